#![allow(clippy::all, clippy::print_stdout, clippy::print_stderr, clippy::unwrap_used, clippy::allow_attributes)]
use likewise_server::bulk::*;
use likewise_server::store::{Store, StoreSettings};
#[tokio::main]
async fn main() {
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_env_filter(std::env::var("L").unwrap_or("info".into())).init();
    let a: Vec<String> = std::env::args().collect();
    let mut store = Store::connect(&StoreSettings { url: a[1].clone(), read_connections: 4 }).await.unwrap();
    store.migrate(if a[1].starts_with("postgres") { 4 } else { 1 }).await.unwrap();
    fn fail<T>(e: BulkError) -> T { eprintln!("{}", likewise_server::error::chain(&e)); std::process::exit(1) }
    match a[2].as_str() {
        "seed" => println!("{}", seed(store, SeedOptions { users: a[3].parse().unwrap(), items: a[4].parse().unwrap(), likes: a[5].parse().unwrap(), random_seed: 1 }).await.unwrap_or_else(fail)),
        _ => println!("{}", import(store, ImportOptions { file: a[3].clone().into(), time_unit: TimeUnit::Milliseconds, skip_bad_lines: a.len() > 4 }).await.unwrap_or_else(fail)),
    }
}
