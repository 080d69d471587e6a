# CPython's own tests of its ssl, hashlib and hmac modules, and of what in its library stands on them (libpython3.N-testsuite).

bring() { :; }

tests() {
    [ $# -gt 0 ] || set -- test.test_ssl test.test_hashlib test.test_hmac test.test_secrets test.test_asyncio.test_ssl \
        test.test_asyncio.test_sslproto test.test_httplib test.test_ftplib test.test_poplib test.test_imaplib test.test_urllib2_localnet \
        test.test_uuid test.test_random
    python3 - "$@" <<'END'
import os, re, sys, unittest
from test import support

support.use_resources = ["cpu"]
report = os.fdopen(3, "w", buffering=1)

class Result(unittest.TextTestResult):
    """Writes what became of every test; subtests are their test's."""
    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.failing = set()
    def name(self, test):
        test = getattr(test, "test_case", test)
        # What is no test but the setting up of some is called by its class.
        fixture = re.fullmatch(r"\w+ \((.*)\)", test.id())
        return fixture.group(1) if fixture else test.id()
    def fails(self, test):
        if self.name(test) not in self.failing:
            self.failing.add(self.name(test))
            print("failed", self.name(test), file=report)
    def addSuccess(self, test):
        super().addSuccess(test)
        if self.name(test) not in self.failing:
            print("passed", self.name(test), file=report)
    def addSkip(self, test, why):
        super().addSkip(test, why)
        print("skipped", self.name(test), file=report)
    def addExpectedFailure(self, test, error):
        super().addExpectedFailure(test, error)
        print("passed", self.name(test), file=report)
    def addError(self, test, error):
        super().addError(test, error)
        self.fails(test)
    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.fails(test)
    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.fails(test)
    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error:
            self.fails(test)

names = unittest.defaultTestLoader.loadTestsFromNames(sys.argv[1:])
unittest.TextTestRunner(verbosity=1, resultclass=Result).run(names)
print("end", file=report)
END
}
