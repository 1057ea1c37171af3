//! The fixtures themselves.

use likewise_tests::harness::Test;
use likewise_tests::plain;
use likewise_tests::postgres::{Postgres, Shutdown, connect};
use likewise_tests::redis::Redis;
use sea_orm::ConnectionTrait;

pub(crate) fn tests() -> Vec<Test> {
    vec![plain!(postgres_keeps_its_data_through_a_crash), plain!(redis_comes_back_empty_on_its_port)]
}

fn postgres_keeps_its_data_through_a_crash() {
    let postgres = Postgres::start().expect("PostgreSQL");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        postgres.create_database("kept").await;
        let before = connect(&postgres.url("kept")).await;
        before.execute_unprepared("CREATE TABLE t (n bigint)").await.expect("a table");
        postgres.restart(Shutdown::Immediate);
        let after = connect(&postgres.url("kept")).await;
        after.execute_unprepared("INSERT INTO t VALUES (1)").await.expect("the table is there");
        after.close().await.expect("an open connection can be closed");
        postgres.copy_database("kept", "copy").await;
        postgres.drop_database("kept").await;
        let copy = connect(&postgres.url("copy")).await;
        let deleted = copy.execute_unprepared("DELETE FROM t").await.expect("the table is there");
        assert_eq!(deleted.rows_affected(), 1);
    });
    postgres.stop(Shutdown::Fast);
}

fn redis_comes_back_empty_on_its_port() {
    use std::io::{Read, Write};
    let redis = Redis::start().expect("Redis");
    let ask = |words: &str| {
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", redis.port())).expect("Redis listens");
        stream.write_all(format!("{words}\r\nQUIT\r\n").as_bytes()).expect("a command");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    };
    assert!(ask("SET a b").starts_with("+OK"));
    redis.pause();
    redis.resume();
    assert!(ask("EXISTS a").starts_with(":1"));
    redis.stop();
    redis.start_again();
    assert!(ask("EXISTS a").starts_with(":0"));
}
