//! Headless Chromium, driven by its DevTools protocol over a pair of pipes.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// What a loaded machine may take for anything.
const PATIENCE: Duration = Duration::from_secs(120);

/// The program, where there is one.
pub fn program() -> Option<&'static str> {
    let runs = |name: &&str| {
        let mut command = Command::new(name);
        command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|s| s.success())
    };
    ["chromium", "chromium-browser", "google-chrome"].into_iter().find(runs)
}

/// A browser with one empty page. It and its profile are gone when this is dropped.
pub struct Browser {
    child: Child,
    to: ChildStdin,
    from: Receiver<Value>,
    next: u64,
    session: Option<String>,
    /// What the page reported since it was last emptied: requests, errors, load events.
    pub events: Vec<Value>,
    _profile: TempDir,
}

impl Browser {
    /// Starts the browser.
    pub fn start(program: &str) -> Browser {
        let profile = tempfile::tempdir().expect("a temporary folder");
        let mut command = Command::new("sh");
        // The protocol's pipes are the descriptors 3 and 4.
        command.args(["-c", "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>/dev/null", "sh", program]);
        command.args([
            "--headless",
            "--remote-debugging-pipe",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
        ]);
        command.args(["--no-first-run", "--disable-background-networking", "--disable-component-update"]);
        command.arg(format!("--user-data-dir={}", profile.path().display())).arg("about:blank");
        command.env("HOME", profile.path()).stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let mut child = command.spawn().expect("Chromium starts");
        let (to, output) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        let (sender, from) = channel();
        std::thread::spawn(move || {
            let messages = BufReader::new(output).split(0);
            for message in messages.map_while(Result::ok) {
                if sender.send(serde_json::from_slice(&message).unwrap_or(Value::Null)).is_err() {
                    break;
                }
            }
        });
        let mut browser = Browser { child, to, from, next: 0, session: None, events: Vec::new(), _profile: profile };
        let page = browser.page();
        let session = browser.call("Target.attachToTarget", json!({"targetId": page, "flatten": true}));
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser.call("Page.setLifecycleEventsEnabled", json!({"enabled": true}));
        browser
    }

    /// Finds the page that the browser starts with, which may be there only some time after the browser answers; until then no other can be made.
    fn page(&mut self) -> Value {
        self.call("Target.setDiscoverTargets", json!({"discover": true}));
        let page = |event: &Value| {
            let target = &event["params"]["targetInfo"];
            (event["method"] == "Target.targetCreated" && target["type"] == "page").then(|| target["targetId"].clone())
        };
        loop {
            if let Some(id) = self.events.iter().find_map(page) {
                return id;
            }
            let event = self.receive("a page");
            self.events.push(event);
        }
    }

    /// Calls a method of the protocol; its result.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let mut message = json!({"id": self.next, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).expect("Chromium listens");
        loop {
            let message = self.receive(method);
            if message["id"] == json!(self.next) {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].clone();
            }
            self.events.push(message);
        }
    }

    fn receive(&self, what: &str) -> Value {
        self.from.recv_timeout(PATIENCE).unwrap_or_else(|e| panic!("{what}: no answer from Chromium: {e}"))
    }

    /// Opens a page as wide as that, in light or dark mode, and waits until it is loaded.
    pub fn open(&mut self, url: &str, width: u32, scheme: &str) {
        let phone = width < 500;
        self.call(
            "Emulation.setDeviceMetricsOverride",
            json!({"width": width, "height": 800, "deviceScaleFactor": if phone { 2 } else { 1 }, "mobile": phone}),
        );
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({"features": features}));
        self.events.clear();
        // Its own: the empty page before it may be loading yet.
        let loader = self.call("Page.navigate", json!({"url": url}))["loaderId"].clone();
        let loaded = |e: &Value| {
            e["method"] == "Page.lifecycleEvent" && e["params"]["name"] == "load" && e["params"]["loaderId"] == loader
        };
        let start = Instant::now();
        while !self.events.iter().any(loaded) {
            assert!(start.elapsed() < PATIENCE, "{url} does not load");
            let event = self.receive("loading");
            self.events.push(event);
        }
    }

    /// The value of an expression in the page.
    pub fn value(&mut self, expression: &str) -> Value {
        let result = self.call("Runtime.evaluate", json!({"expression": expression, "returnByValue": true}));
        assert!(result["exceptionDetails"].is_null(), "{result}");
        result["result"]["value"].clone()
    }

    /// What the page has complained of, and the addresses that it has asked for.
    pub fn complaints_and_requests(&self) -> (Vec<String>, Vec<String>) {
        let of = |methods: &[&str]| {
            let events = self.events.iter().filter(|e| methods.iter().any(|m| e["method"] == *m));
            events.map(|e| e["params"].clone()).collect::<Vec<_>>()
        };
        let complaints = of(&["Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled"]);
        let requests = of(&["Network.requestWillBeSent"]);
        let url = |p: &Value| p["request"]["url"].as_str().unwrap_or_default().to_owned();
        (complaints.iter().map(Value::to_string).collect(), requests.iter().map(url).collect())
    }

    /// The whole page as a PNG, in base64.
    pub fn screenshot(&mut self) -> String {
        let shot = self.call("Page.captureScreenshot", json!({"captureBeyondViewport": false}));
        shot["data"].as_str().unwrap_or_default().to_owned()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Its own group: the browser with all its helpers.
        let group = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw);
        let _ = group.map(|group| rustix::process::kill_process_group(group, rustix::process::Signal::KILL));
        let _ = self.child.wait();
    }
}
