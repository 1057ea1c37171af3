//! A proxy in front of PostgreSQL that loses a COMMIT or its reply when it is told to.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// What happens to a COMMIT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// It is carried out, the reply is lost and the connection with it.
    ReplyAndConnection,
    /// It is carried out, and the connection says nothing any more.
    ReplyOnly,
    /// It never arrives, and both ends are cut.
    CommitAndConnection,
    /// It never arrives, and both ends are left waiting.
    CommitOnly,
}

/// A running proxy; it ends with the test's runtime.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    plan: Arc<Plan>,
}

#[derive(Debug, Default)]
struct Plan {
    losses: Mutex<Vec<Loss>>,
    done: AtomicUsize,
}

impl Proxy {
    /// Listens on a free port and passes on to `port` of this machine.
    pub async fn start(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let plan = Arc::new(Plan::default());
        tokio::spawn(accept(listener, port, Arc::clone(&plan)));
        Self { address, plan }
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The next COMMIT of a write lane is lost in this way, after those that were planned before.
    pub fn lose(&self, loss: Loss) {
        self.plan.losses.lock().expect("no holder panics").insert(0, loss);
    }

    /// How many losses have happened.
    pub fn losses(&self) -> usize {
        self.plan.done.load(Ordering::Relaxed)
    }
}

async fn accept(listener: TcpListener, port: u16, plan: Arc<Plan>) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        let plan = Arc::clone(&plan);
        connections.spawn(async move {
            if let Ok(server) = TcpStream::connect(("127.0.0.1", port)).await {
                // A connection that ends is what this is for.
                let _ = pass(client, server, &plan).await;
            }
        });
    }
}

async fn pass(mut client: TcpStream, mut server: TcpStream, plan: &Plan) -> std::io::Result<()> {
    let (mut asked, mut answered) = (vec![0; 64 * 1024], vec![0; 64 * 1024]);
    let mut lane = false;
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let message = &asked[..read?];
                if message.is_empty() {
                    return Ok(());
                }
                lane |= contains(message, b"likewise-lanes");
                let loss = if lane && contains(message, b"COMMIT\0") { plan.next() } else { None };
                if let Some(loss) = loss {
                    return lose(loss, message, client, server).await;
                }
                server.write_all(message).await?;
            }
            read = server.read(&mut answered) => {
                let message = &answered[..read?];
                if message.is_empty() {
                    return Ok(());
                }
                client.write_all(message).await?;
            }
        }
    }
}

async fn lose(loss: Loss, commit: &[u8], client: TcpStream, mut server: TcpStream) -> std::io::Result<()> {
    if matches!(loss, Loss::ReplyAndConnection | Loss::ReplyOnly) {
        server.write_all(commit).await?;
        // The reply proves that the database has carried it out.
        server.read_u8().await?;
    }
    match loss {
        Loss::ReplyAndConnection | Loss::CommitAndConnection => drop((client, server)),
        // Until the test's runtime ends.
        Loss::ReplyOnly | Loss::CommitOnly => std::future::pending::<()>().await,
    }
    Ok(())
}

impl Plan {
    fn next(&self) -> Option<Loss> {
        let loss = self.losses.lock().expect("no holder panics").pop();
        self.done.fetch_add(usize::from(loss.is_some()), Ordering::Relaxed);
        loss
    }
}

fn contains(message: &[u8], word: &[u8]) -> bool {
    message.windows(word.len()).any(|window| window == word)
}
