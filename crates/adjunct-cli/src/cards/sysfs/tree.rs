//! What the files of the tree are, and how a tree is made and brought up to date.

use adjunct_card_state::control::Node;
use adjunct_card_state::machine::{Card, Machine, Mask, Queue};
use adjunct_ztools::cards::device::Device;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

/// A file, a link or a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entry {
    Folder,
    File(String, u32),
    Link(PathBuf),
}

impl Entry {
    /// Writes the entry; makes a folder where it is not there.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        match self {
            Entry::Folder => match fs::create_dir(path) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
                _ => fs::set_permissions(path, fs::Permissions::from_mode(0o755)),
            },
            Entry::File(text, mode) => {
                fs::write(path, text)?;
                fs::set_permissions(path, fs::Permissions::from_mode(*mode))
            }
            Entry::Link(target) => std::os::unix::fs::symlink(target, path),
        }
    }

    /// Whether `path` is this entry already.
    fn is_at(&self, path: &Path) -> bool {
        let Ok(meta) = fs::symlink_metadata(path) else { return false };
        match self {
            Entry::Folder => meta.is_dir(),
            Entry::File(text, mode) => {
                meta.is_file()
                    && meta.permissions().mode() & 0o777 == *mode
                    && fs::read(path).is_ok_and(|now| now == text.as_bytes())
            }
            Entry::Link(target) => meta.is_symlink() && fs::read_link(path).is_ok_and(|now| now == *target),
        }
    }
}

/// A tree: paths below its folder, each folder before what is in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Tree(BTreeMap<PathBuf, Entry>);

impl Tree {
    /// The cards, and the nodes.
    pub(super) fn of(machine: &Machine, nodes: &[Node]) -> Tree {
        let mut tree = Tree::default();
        tree.bus(machine);
        for card in &machine.cards {
            let device = Device { card, queue: None };
            let folder = format!("devices/ap/card{:02x}", card.id);
            tree.device(&folder, &device);
            tree.read_only(&folder, "type", &card.kind);
            tree.read_only(&folder, "hwtype", card.hwtype);
            tree.read_only(&folder, "raw_hwtype", card.hwtype);
            tree.read_only(&folder, "depth", card.depth);
            tree.read_only(&folder, "modalias", format!("ap:t{:02X}", card.hwtype));
            tree.read_only(&folder, "max_msg_size", card.max_message);
            tree.read_write(&folder, "config", u8::from(card.config));
            if !card.serial.is_empty() {
                tree.read_only(&folder, "serialnr", &card.serial);
            }
            tree.link(&format!("bus/ap/devices/card{:02x}", card.id), &folder);
            for queue in &card.queues {
                let device = Device { card, queue: Some(queue) };
                let folder = format!("{folder}/{}", device.id());
                tree.device(&folder, &device);
                tree.read_write(&folder, "reset", "No Reset Timer set.");
                tree.read_only(&folder, "interrupt", "Interrupts enabled.");
                tree.read_only(&folder, "config", u8::from(card.config));
                tree.link(&format!("bus/ap/devices/{}", device.id()), &folder);
            }
        }
        for node in nodes {
            tree.node(node);
        }
        tree
    }

    fn bus(&mut self, machine: &Machine) {
        let (bus, folder) = (&machine.bus, "bus/ap");
        let queues: usize = machine.cards.iter().map(|card| card.queues.len()).sum();
        let adapters: Mask = machine.cards.iter().map(|card| card.id).collect();
        let features = if bus.features.is_empty() { "-".to_owned() } else { bus.features.join(" ") };
        self.read_write(folder, "ap_domain", bus.default_domain.map_or(-1, i32::from));
        self.read_only(folder, "ap_max_domain_id", 255);
        self.read_only(folder, "ap_max_adapter_id", 255);
        self.read_only(folder, "ap_control_domain_mask", bus.control_domains);
        self.read_only(folder, "ap_usage_domain_mask", bus.usage_domains);
        self.read_only(folder, "ap_adapter_mask", adapters);
        self.read_write(folder, "apmask", bus.apmask);
        self.read_write(folder, "aqmask", bus.aqmask);
        self.read_write(folder, "config_time", bus.config_time);
        self.read_write(folder, "poll_thread", u8::from(bus.poll_thread));
        self.read_write(folder, "poll_timeout", bus.poll_timeout);
        self.read_only(folder, "ap_interrupts", 1);
        self.read_write(folder, "scans", bus.scans);
        self.read_only(folder, "bindings", format!("{queues}/{queues} (complete)"));
        self.read_only(folder, "features", features);
        for folder in
            ["bus/ap/devices", "bus/ap/drivers/cex4card", "bus/ap/drivers/cex4queue", "devices/ap", "class/zcrypt"]
        {
            self.folder(Path::new(folder));
        }
        self.file("class/zcrypt/create".into(), String::new(), 0o600);
        self.file("class/zcrypt/destroy".into(), String::new(), 0o600);
    }

    /// The attributes that cards and domains have in common.
    fn device(&mut self, folder: &str, device: &Device<'_>) {
        self.read_only(folder, "ap_functions", format!("0x{:08X}", device.card.functions));
        self.read_write(folder, "request_count", device.requests());
        self.read_only(folder, "requestq_count", device.requestq());
        self.read_only(folder, "pendingq_count", device.pendingq());
        self.read_only(folder, "load", device.load());
        self.read_only(folder, "chkstop", u8::from(device.card.chkstop));
        self.read_write(folder, "online", u8::from(device.online()));
        self.link(&format!("{folder}/driver"), &format!("bus/ap/drivers/{}", device.driver()));
    }

    /// The patterns of a domain's wrapping keys, as the driver for EP11 shows them; `None` where they are not known.
    pub(super) fn wrapping_keys(&mut self, card: &Card, queue: &Queue, keys: Option<&Value>) {
        let folder = format!("devices/ap/card{:02x}/{}", card.id, Device { card, queue: Some(queue) }.id());
        let pattern = |name: &str| {
            let found = keys.and_then(|keys| keys[name].as_str());
            found.filter(|text| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()))
        };
        let current = match (keys, pattern("current_pattern")) {
            (None, _) => "- -".to_owned(),
            (_, None) => "invalid -".to_owned(),
            (_, Some(pattern)) => format!("valid 0x{pattern}"),
        };
        let is_committed = keys.is_some_and(|keys| keys["next_state"] == "committed");
        let next = match (keys, pattern("next_pattern")) {
            (None, _) => "- -".to_owned(),
            (_, None) => "empty -".to_owned(),
            (_, Some(pattern)) => format!("{} 0x{pattern}", if is_committed { "committed" } else { "uncommitted" }),
        };
        self.read_only(&folder, "mkvps", format!("WK CUR: {current}\nWK NEW: {next}"));
    }

    fn node(&mut self, node: &Node) {
        // A name that is no name of a file would lead out of the tree.
        if !matches!(Path::new(&node.name).components().collect::<Vec<_>>()[..], [Component::Normal(name)] if name == node.name.as_str())
            || ["create", "destroy"].contains(&node.name.as_str())
            || node.name.starts_with('.')
        {
            return;
        }
        let folder = format!("class/zcrypt/{}", node.name);
        self.read_write(&folder, "apmask", node.adapters);
        self.read_write(&folder, "aqmask", node.domains);
        self.read_write(&folder, "admask", node.controls);
        self.read_write(&folder, "ioctlmask", node.ioctls);
        self.read_only(&folder, "dev", "0:0");
    }

    fn read_only(&mut self, folder: &str, name: &str, value: impl ToString) {
        self.file(format!("{folder}/{name}").into(), value.to_string() + "\n", 0o444);
    }

    fn read_write(&mut self, folder: &str, name: &str, value: impl ToString) {
        self.file(format!("{folder}/{name}").into(), value.to_string() + "\n", 0o644);
    }

    fn file(&mut self, path: PathBuf, text: String, mode: u32) {
        path.parent().into_iter().for_each(|parent| self.folder(parent));
        self.0.insert(path, Entry::File(text, mode));
    }

    /// A link to another path of the tree, relative, so that the tree may be mounted and moved.
    fn link(&mut self, path: &str, target: &str) {
        let up = "../".repeat(path.matches('/').count());
        self.0.insert(path.into(), Entry::Link(format!("{up}{target}").into()));
    }

    fn folder(&mut self, path: &Path) {
        for folder in path.ancestors().filter(|folder| *folder != Path::new("")) {
            self.0.entry(folder.into()).or_insert(Entry::Folder);
        }
    }

    /// All entries, each folder before what is in it.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&Path, &Entry)> {
        self.0.iter().map(|(path, entry)| (path.as_path(), entry))
    }

    /// Changes what is in `dir` into this tree; what is new is made in `aside` and renamed into its place.
    pub(super) fn update(&self, dir: &Path, aside: &Path) -> io::Result<()> {
        let (old, mut moved) = (aside.join("old"), 0);
        fs::create_dir(&old)?;
        let mut away = |path: &Path| {
            moved += 1;
            fs::rename(path, old.join(moved.to_string()))
        };
        // Folders that appear whole, with what is in them.
        let mut whole = BTreeSet::new();
        for (path, entry) in self.entries() {
            if path.ancestors().any(|above| whole.contains(above)) || entry.is_at(&dir.join(path)) {
                continue;
            }
            let made = aside.join("new");
            entry.write(&made)?;
            if *entry == Entry::Folder {
                let below = self.entries().filter(|(below, _)| *below != path && below.starts_with(path));
                for (below, entry) in below {
                    entry.write(&made.join(below.strip_prefix(path).unwrap_or(below)))?;
                }
                whole.insert(path.to_owned());
            }
            let place = dir.join(path);
            // A file or link replaces one; of a folder and something else, the old goes first.
            match fs::symlink_metadata(&place) {
                Ok(meta) if meta.is_dir() || *entry == Entry::Folder => away(&place)?,
                _ => {}
            }
            fs::rename(&made, &place)?;
        }
        for top in ["bus", "devices", "class"] {
            self.prune(dir, Path::new(top), &mut away)?;
        }
        Ok(())
    }

    /// Takes away what is not in the tree.
    fn prune(&self, dir: &Path, path: &Path, away: &mut impl FnMut(&Path) -> io::Result<()>) -> io::Result<()> {
        let place = dir.join(path);
        let Ok(meta) = fs::symlink_metadata(&place) else { return Ok(()) };
        match self.0.get(path) {
            None => away(&place),
            Some(Entry::Folder) if meta.is_dir() => {
                for child in fs::read_dir(&place)? {
                    self.prune(dir, &path.join(child?.file_name()), away)?;
                }
                Ok(())
            }
            Some(_) => Ok(()),
        }
    }
}
