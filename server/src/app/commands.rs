//! The commands beside `serve`: each opens the store, does its work and reports.

use super::{StartError, connect, connect_current, connect_existing, token_rules};
use crate::bulk;
use crate::config::{
    DatabaseConfig, EraseConfig, EventsConfig, ImportConfig, SeedConfig, SettingError, TimeUnit, TokenConfig,
};
use crate::domain::UserId;
use crate::error::Error;
use crate::lifecycle::Lifecycle;
use crate::relay::Relay;
use crate::store::migrate::Migrated;

/// Connections that a command's reads may use.
pub(super) const COMMAND_READ_CONNECTIONS: u32 = 4;

/// Brings a schema up to date.
pub async fn migrate(config: &DatabaseConfig) -> Result<Migrated, StartError> {
    config.check()?;
    let mut store = connect(config, 1).await?;
    Ok(store.migrate(config.new_partitions()).await?)
}

/// A token for a user.
pub fn token(config: &TokenConfig) -> Result<String, StartError> {
    config.jwt.check()?;
    let user =
        UserId::parse(&config.user).map_err(|why| SettingError { setting: "--user", message: why.to_string() })?;
    let (token, _expires_at) = token_rules(&config.jwt, false)?.mint(&user, config.scope.as_deref(), config.ttl)?;
    Ok(token)
}

/// Imports a like table.
pub async fn import(config: &ImportConfig) -> Result<bulk::ImportReport, StartError> {
    config.database.check()?;
    let store = connect_current(&config.database, COMMAND_READ_CONNECTIONS).await?;
    let options = bulk::ImportOptions {
        file: config.file.clone(),
        time_unit: match config.time_unit {
            TimeUnit::S => bulk::TimeUnit::Seconds,
            TimeUnit::Ms => bulk::TimeUnit::Milliseconds,
            TimeUnit::Us => bulk::TimeUnit::Microseconds,
        },
        skip_bad_lines: config.skip_bad_lines,
    };
    Ok(bulk::import(store, options).await?)
}

/// Prints the log to the standard output.
pub async fn events(config: &EventsConfig) -> Result<(), StartError> {
    config.check()?;
    let store = connect_existing(&config.database, 1).await?;
    let relay = Relay::open(store, &config.from, config.follow).await?;
    // A task of its own: while it waits for whoever reads the output, the process can still be told to stop.
    let printing = Lifecycle::new().requests().spawn(relay.run(std::io::stdout()));
    Ok(printing.await.map_err(Error::internal)??)
}

/// Deletes an account and all that is stored of it.
pub async fn erase(config: &EraseConfig) -> Result<bulk::EraseReport, StartError> {
    config.database.check()?;
    let user =
        UserId::parse(&config.user).map_err(|why| SettingError { setting: "--user", message: why.to_string() })?;
    let store = connect_existing(&config.database, COMMAND_READ_CONNECTIONS).await?;
    Ok(bulk::erase(store, user).await?)
}

/// Makes trial data.
pub async fn seed(config: &SeedConfig) -> Result<bulk::SeedReport, StartError> {
    config.database.check()?;
    let store = connect_current(&config.database, COMMAND_READ_CONNECTIONS).await?;
    let options = bulk::SeedOptions {
        users: config.users,
        items: config.items,
        likes: config.likes,
        random_seed: config.random_seed,
    };
    Ok(bulk::seed(store, options).await?)
}
