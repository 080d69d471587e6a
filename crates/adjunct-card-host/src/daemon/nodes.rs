//! Nodes: sockets that allow less than the daemon's own, for containers. zcryptctl makes and changes them.

use super::listen::listen;
use adjunct_card_state::control::{Item, Node};
use adjunct_card_state::folder::Folder;
use adjunct_card_state::machine::Mask;
use rustix::fd::OwnedFd;
use rustix::io::Errno;

/// The most nodes.
const MOST: usize = 64;
/// The driver's number of a private operation with the Chinese remainder theorem (`ICARSACRT`), without which a node takes no requests.
pub const RSA_CRT: u8 = 0x06;

/// A node that listens.
#[derive(Debug)]
pub struct Listening {
    /// The node: what it allows, and its path.
    pub node: Node,
    /// Its socket.
    pub socket: OwnedFd,
}

/// All nodes but the default one.
#[derive(Debug, Default)]
pub struct Nodes(pub Vec<Listening>);

/// A refusal: the driver's error number, and a sentence.
pub type Refused = (Errno, String);

fn is_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"_-.".contains(&b);
    (1..=32).contains(&name.len()) && name.bytes().all(plain) && !name.starts_with('.')
}

impl Nodes {
    /// All nodes, as tools list them.
    pub fn list(&self) -> Vec<Node> {
        self.0.iter().map(|listening| listening.node.clone()).collect()
    }

    /// Makes a node that allows nothing.
    ///
    /// # Errors
    /// [`Errno::EXIST`] where the name is taken, [`Errno::INVAL`] where it is none, [`Errno::NOSPC`] where there are too many; what the
    /// system says.
    pub fn create(&mut self, folder: &Folder, name: Option<String>) -> Result<Node, Refused> {
        let taken = |name: &str| self.0.iter().any(|listening| listening.node.name == name);
        let next = || (0..=MOST).map(|number| format!("zcrypt_{number}")).find(|name| !taken(name)).unwrap_or_default();
        let name = name.unwrap_or_else(next);
        if !is_name(&name) {
            return Err((Errno::INVAL, "a node's name is 1 to 32 letters, digits, '_', '-' and '.'".into()));
        }
        if taken(&name) {
            return Err((Errno::EXIST, format!("there is a node {name} already")));
        }
        if self.0.len() >= MOST {
            return Err((Errno::NOSPC, format!("there are {MOST} nodes already")));
        }
        let failed = |error: Errno| (error, format!("{}: {error}", folder.nodes().display()));
        match rustix::fs::mkdir(folder.nodes(), rustix::fs::Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(failed(error)),
        }
        let path = folder.nodes().join(&name);
        // As the driver's: root's alone until somebody says otherwise.
        let socket = listen(&path, 0o600).map_err(failed)?;
        let none = Mask::default();
        let path = path.display().to_string();
        let node = Node { name, path, adapters: none, domains: none, controls: none, ioctls: none };
        self.0.push(Listening { node: node.clone(), socket });
        Ok(node)
    }

    /// Removes a node; connections that were made stay.
    ///
    /// # Errors
    /// [`Errno::NODEV`] where there is none of this name.
    pub fn destroy(&mut self, name: &str) -> Result<(), Refused> {
        let place = self.place(name)?;
        let gone = self.0.remove(place);
        let _ = rustix::fs::unlink(gone.node.path.as_str());
        Ok(())
    }

    /// Allows something, or withdraws the permission.
    ///
    /// # Errors
    /// As for [`Nodes::destroy`].
    pub fn change(&mut self, name: &str, item: Item, allowed: bool) -> Result<(), Refused> {
        let place = self.place(name)?;
        let node = &mut self.0[place].node;
        let (mask, number) = match item {
            Item::Adapter(number) => (&mut node.adapters, number),
            Item::Domain(number) => (&mut node.domains, number),
            Item::Control(number) => (&mut node.controls, number),
            Item::Ioctl(number) => (&mut node.ioctls, number),
        };
        mask.set(number, allowed);
        Ok(())
    }

    fn place(&self, name: &str) -> Result<usize, Refused> {
        let place = self.0.iter().position(|listening| listening.node.name == name);
        place.ok_or_else(|| (Errno::NODEV, format!("there is no node {}", name.escape_debug())))
    }
}
