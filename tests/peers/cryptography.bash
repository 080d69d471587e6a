# The tests of pyca/cryptography, with its own vectors, on the suite's python3-cryptography.

bring() {
    source_of python-cryptography
    cp -r "$source/tests" .
}

tests() {
    [ $# -gt 0 ] || set -- tests
    cat >peers.py <<'END'
import os

report = os.fdopen(3, "w", buffering=1)
worst = {}

def pytest_runtest_logreport(report):
    # Set up, call, take down, and each subtest: a test fails with any of them.
    order = ["passed", "skipped", "failed"]
    known = worst.get(report.nodeid, "passed")
    worst[report.nodeid] = max(known, report.outcome, key=order.index)

def pytest_runtest_logfinish(nodeid, location):
    print(worst.pop(nodeid, "passed"), nodeid, file=report)

def pytest_collectreport(report):
    if report.failed:
        print("failed", report.nodeid, file=globals()["report"])

def pytest_sessionfinish(session, exitstatus):
    print("end", file=report)
END
    PYTHONPATH=. python3 -m pytest -p peers -p no:cacheprovider -q --tb=short "$@"
}
