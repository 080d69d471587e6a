//! The page of `adjunct ssh bench --html`, opened by a real browser as a phone and as a desktop have it, in light and in dark
//! mode.

mod bench_report;
mod chromium;

use chromium::Browser;
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// What is looked at in the page, with all its tables open.
const PROBE: &str = r#"(() => {
    document.querySelectorAll("details").forEach(d => d.open = true);
    const shown = e => e.getClientRects().length > 0;
    const box = e => e.getBoundingClientRect();
    const charts = [...document.querySelectorAll("svg")].filter(shown);
    const cells = [...document.querySelectorAll("th, td")].filter(shown);
    const wide = [...document.querySelectorAll("main *")].filter(e => shown(e) && !e.closest("svg") && box(e).right > innerWidth + 0.5);
    const outside = charts.flatMap(c => [...c.querySelectorAll("text, rect")].filter(
        e => box(e).left < box(c).left - 1 || box(e).right > box(c).right + 1 || box(e).bottom > box(c).bottom + 1));
    const small = charts.flatMap(c => [...c.querySelectorAll("text")].filter(e => box(e).height < 9));
    const overlap = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
    const crossed = charts.flatMap(c => {
        const texts = [...c.querySelectorAll("text")], lines = [...c.querySelectorAll("polyline, rect")];
        const whiskers = lines.filter(l => l.tagName == "rect" || getComputedStyle(l).stroke != getComputedStyle(c.querySelector("polyline")).stroke);
        return texts.flatMap((t, i) => [...texts.slice(i + 1), ...whiskers].filter(o => overlap(box(t), box(o)))
            .map(o => t.textContent + " over " + o.outerHTML.slice(0, 120)));
    });
    return {
        width: innerWidth,
        scroll: document.documentElement.scrollWidth,
        charts: charts.length,
        bars: charts.map(c => c.querySelectorAll("rect").length),
        unnamed: charts.filter(c => c.getAttribute("role") != "img" || !c.getAttribute("aria-label")).length,
        narrowest: Math.min(...charts.map(c => box(c).width)),
        clipped: cells.filter(c => c.scrollWidth > c.clientWidth + 1).map(c => c.textContent),
        broken: cells.filter(c => /^[\d.]+$/.test(c.firstChild?.textContent ?? "") && (() => {
            const range = document.createRange(); range.selectNodeContents(c.firstChild); return range.getClientRects().length > 1; })())
            .map(c => c.textContent),
        wide: wide.map(e => e.outerHTML.slice(0, 200)),
        outside: outside.map(e => e.outerHTML),
        small: small.map(e => e.outerHTML),
        crossed: crossed,
        tables: document.querySelectorAll("table").length,
        page: getComputedStyle(document.body).backgroundColor,
        ink: getComputedStyle(document.querySelector("h1")).color,
        label: getComputedStyle(document.querySelector("svg text")).fill,
        text: document.body.innerText,
    };
})()"#;

/// A browser, and a folder for the page.
fn browser() -> Option<(Browser, TempDir)> {
    let Some(program) = chromium::program() else {
        println!("SKIPPED: no chromium here");
        return None;
    };
    Some((Browser::start(program), tempfile::tempdir().expect("a temporary folder")))
}

fn page(folder: &Path) -> String {
    let (report, page) = (folder.join("report.json"), folder.join("page.html"));
    std::fs::write(&report, bench_report::report().to_string()).expect("written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_adjunct-bench"));
    command.args(["ssh", "bench", "--from"]).arg(&report).arg("--html").arg(&page);
    let output = command.output().expect("the command runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    format!("file://{}", page.display())
}

/// How light a colour is, from 0 to 1.
fn lightness(colour: &Value) -> f64 {
    let text = colour.as_str().unwrap_or_default();
    let numbers = text.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse::<f64>().ok());
    let numbers: Vec<f64> = numbers.collect();
    assert!(numbers.len() >= 3, "{text}");
    (0.2126 * numbers[0] + 0.7152 * numbers[1] + 0.0722 * numbers[2]) / 255.0
}

fn nothing(probe: &Value, key: &str, where_: &str) {
    assert_eq!(probe[key].as_array().map(Vec::len), Some(0), "{where_}, {key}: {}", probe[key]);
}

#[test]
fn the_page_is_readable_on_a_phone_and_in_the_dark() {
    let Some((mut browser, folder)) = browser() else { return };
    let url = page(folder.path());
    for (width, scheme) in [(320, "light"), (360, "light"), (360, "dark"), (800, "light"), (1200, "dark")] {
        let here = format!("{width} pixels, {scheme}");
        browser.open(&url, width, scheme);
        let probe = browser.value(PROBE);
        assert!(probe["scroll"].as_u64() <= probe["width"].as_u64(), "{here}: scrolls sideways: {}", probe["scroll"]);
        // The answer; today's ciphers in two sections of two groups, two measures each; logins; old ciphers, once.
        assert_eq!(
            (probe["charts"].as_u64(), probe["tables"].as_u64()),
            (Some(1 + 8 + 1 + 4), Some(4 + 1 + 2)),
            "{here}"
        );
        let bars: Vec<_> = probe["bars"].as_array().expect("bars").iter().map(|bars| bars.as_u64()).collect();
        assert_eq!(bars[0], Some(6), "{here}: two times of three suites");
        assert!(bars[1..].iter().all(|bars| matches!(bars, Some(6 | 9))), "{here}: a bar of each side: {bars:?}");
        assert_eq!(probe["unnamed"], 0, "{here}: charts have a name for screen readers");
        assert!(
            probe["narrowest"].as_f64() > Some((f64::from(width) * 0.75).min(700.0)),
            "{here}: {}",
            probe["narrowest"]
        );
        for key in ["clipped", "broken", "wide", "outside", "small", "crossed"] {
            nothing(&probe, key, &here);
        }
        let [page, ink, label] = ["page", "ink", "label"].map(|key| lightness(&probe[key]));
        if scheme == "dark" {
            assert!(page < 0.15 && ink > 0.75 && label > 0.5, "{here}: {page} {ink} {label}");
        } else {
            assert!(page > 0.9 && ink < 0.25 && label < 0.5, "{here}: {page} {ink} {label}");
        }
        let (complaints, requests) = browser.complaints_and_requests();
        assert!(complaints.is_empty(), "{here}: {complaints:?}");
        assert!(requests.iter().all(|r| r == &url || r.starts_with("data:")), "{here}: {requests:?}");
        assert!(!browser.screenshot().is_empty());
    }
}

#[test]
fn the_page_says_all_that_the_report_says() {
    let Some((mut browser, folder)) = browser() else { return };
    let url = page(folder.path());
    browser.open(&url, 360, "light");
    let text = browser.value(PROBE)["text"].as_str().unwrap_or_default().to_owned();
    let header = &bench_report::report()["header"];
    for key in ["cpu", "openssh", "openssl", "adjunct", "date", "command", "data", "method", "mask"] {
        assert!(text.contains(header[key].as_str().expect("text")), "{key}: {text}");
    }
    for said in [
        "not available: OpenSSH_9.2p1",
        "in the paper: 417.9 MB/s",
        "\"as in the paper\" <& so on>",
        "12346",
        "±",
        "111 s; 104 s were estimated",
        "others used 31 % of its processor time",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
}

/// What is read first, in which order the subjects come, what colours say, and what stands last.
#[test]
fn the_page_answers_first_and_ends_with_what_to_do() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let url = page(folder.path());
    let text = std::fs::read_to_string(url.trim_start_matches("file://")).expect("the page");
    let place = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what} is not there"));
    let order = [
        "<p class=\"lead\">Copying 1 GB by ssh takes",
        "<p class=\"warning\">The machine was busy",
        "<section id=\"answer\"",
        "<section id=\"table2\"",
        "<section id=\"table3\"",
        "<section id=\"small\"",
        "<section id=\"table2-old\"",
        "<section id=\"machine\"",
        "<section id=\"advice\"",
    ];
    assert!(order.windows(2).all(|pair| place(pair[0]) < place(pair[1])), "{order:?}");
    assert_eq!(text.matches("<section").count(), 7, "what stands there again in another order is shown once");
    let section = |id: &str| {
        let (_, rest) = text.split_once(&format!("<section id=\"{id}\"")).expect("the section");
        rest.split_once("</section>").expect("its end").0
    };
    assert!(!section("table2").contains("3des-cbc") && section("table2-old").contains("3des-cbc"));
    assert!(
        section("answer").contains("CPU s</text>") || section("answer").contains(" CPU s\n"),
        "the bars say their units"
    );
    // Whiskers overlap: grey, whatever the ratio; nothing is red that is not surely worse.
    assert!(
        section("small").contains("td class=\"same\" title=\"no difference\"") && !section("small").contains("\"bad\"")
    );
    assert!(section("table2").contains("td class=\"good\""));
    for command in ["adjunct setup --dry-run", "sudo adjunct setup", "adjunct ssh verify"] {
        assert!(section("advice").contains(command), "{command}");
    }
    assert!(section("advice").contains("Ed25519") && section("advice").contains("repeat this when it is quiet"));
}
