//! The commands beside `serve`: each opens the store, does its work and reports.

use super::{StartError, connect, connect_current, token_rules};
use crate::bulk;
use crate::config::{DatabaseConfig, ImportConfig, SeedConfig, SettingError, TimeUnit, TokenConfig};
use crate::domain::UserId;
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
