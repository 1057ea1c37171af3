//! A proxy whose connections can go half-open: they stay, and nothing comes through any more.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// A running proxy; it ends with the runtime.
#[derive(Debug)]
pub struct HalfOpen {
    address: SocketAddr,
    swallows: Arc<AtomicBool>,
}

impl HalfOpen {
    /// Listens on a free port and passes on to `port` of this machine.
    pub async fn start(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let swallows = Arc::new(AtomicBool::new(false));
        tokio::spawn(accept(listener, port, Arc::clone(&swallows)));
        Self { address, swallows }
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// From now on bytes vanish, in both directions and on new connections too.
    pub fn swallow(&self, swallows: bool) {
        self.swallows.store(swallows, Ordering::Relaxed);
    }
}

async fn accept(listener: TcpListener, port: u16, swallows: Arc<AtomicBool>) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        let swallows = Arc::clone(&swallows);
        connections.spawn(async move {
            if let Ok(server) = TcpStream::connect(("127.0.0.1", port)).await {
                // A connection that ends is what this is for.
                let _ = pass(client, server, &swallows).await;
            }
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn pass(mut client: TcpStream, mut server: TcpStream, swallows: &AtomicBool) -> std::io::Result<()> {
    let (mut asked, mut answered) = (vec![0; 64 * 1024], vec![0; 64 * 1024]);
    // A stream with a hole in it is of no use afterwards: once it has swallowed, it never passes anything again.
    let mut broken = false;
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let message = &asked[..read?];
                broken |= swallows.load(Ordering::Relaxed);
                match message.is_empty() {
                    true => return Ok(()),
                    false if !broken => server.write_all(message).await?,
                    false => {}
                }
            }
            read = server.read(&mut answered) => {
                let message = &answered[..read?];
                broken |= swallows.load(Ordering::Relaxed);
                match message.is_empty() {
                    // Half-open means that nobody learns of it.
                    true if broken => std::future::pending::<()>().await,
                    true => return Ok(()),
                    false if !broken => client.write_all(message).await?,
                    false => {}
                }
            }
        }
    }
}
