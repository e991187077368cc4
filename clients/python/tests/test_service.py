"""Against a real service, which test/deploy/python.test.ts starts: COFFER_TEST_SETTINGS names a file with its URLs and credentials."""

import copy
import json
import os
import pickle
import threading
import unittest

from coffer import Coffer, CofferError, ci_auth, workload_auth

with open(os.environ["COFFER_TEST_SETTINGS"], encoding="utf-8") as file:
    GIVEN = json.load(file)
VALUE = "s3cret of the test, ünïcode and\nlines"


class Service(unittest.TestCase):
    def setUp(self) -> None:
        self.coffer = Coffer(GIVEN["url"], token=GIVEN["token"])
        self.addCleanup(self.coffer.close)
        self.secrets = self.coffer.secrets

    def refused(self, code: str, status: int, call, *args, **kwargs) -> CofferError:
        with self.assertRaises(CofferError) as caught:
            call(*args, **kwargs)
        self.assertEqual((caught.exception.code, caught.exception.status), (code, status))
        self.assertRegex(caught.exception.request_id or "", r"^req_")
        return caught.exception

    def test_set_creates_and_then_adds_versions_and_get_reads_each(self) -> None:
        path = "py/versions/a@b+c=d.e"
        self.assertEqual(self.secrets.set("shop", path, VALUE, type="generic").version, 1)
        self.assertEqual(self.secrets.set("shop", path, "second", reason="because").version, 2)
        self.assertEqual(self.secrets.get("shop", path).value, "second")
        first = self.secrets.get("shop", path, version=1)
        self.assertEqual((first.value, first.version, first.type, first.path), (VALUE, 1, "generic", path))

    def test_a_stale_expected_version_changes_nothing(self) -> None:
        self.secrets.set("shop", "py/guarded", "one")
        self.assertEqual(self.secrets.set("shop", "py/guarded", "two", expected_version=1).version, 2)
        self.refused("VERSION_CONFLICT", 409, self.secrets.set, "shop", "py/guarded", "three", expected_version=1)
        self.assertEqual(self.secrets.get("shop", "py/guarded").value, "two")
        self.refused("SECRET_NOT_FOUND", 404, self.secrets.set, "shop", "py/none", "x", expected_version=1)

    def test_threads_that_set_the_same_new_path_all_succeed(self) -> None:
        problems = []

        def store(number: int) -> None:
            try:
                self.secrets.set("shop", "py/raced", f"value {number}")
            except CofferError as error:
                problems.append(str(error))

        threads = [threading.Thread(target=store, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(problems, [])
        self.assertEqual(self.secrets.get("shop", "py/raced").version, 6)

    def test_list_passes_over_pages_and_has_no_values(self) -> None:
        for number in range(7):
            self.secrets.set("shop", f"py/list/{number}", VALUE)
        listed = list(self.secrets.list("shop", prefix="py/list/", page_size=2))
        self.assertEqual([each.path for each in listed], [f"py/list/{number}" for number in range(7)])
        self.assertNotIn("value", listed[0].fields)
        self.assertEqual(listed[0].version, 1)

    def test_a_value_is_never_printed(self) -> None:
        self.secrets.set("shop", "py/printed", VALUE)
        secret = self.secrets.get("shop", "py/printed")
        for text in (repr(secret), str(secret), f"{secret}", f"{secret!r:>80}", "%s" % secret, repr([secret]), repr(vars(self.coffer))):
            self.assertNotIn("s3cret", text)
            self.assertNotIn(GIVEN["token"], text)
        self.assertIn("[redacted]", repr(secret))
        self.assertNotIn(VALUE, json.dumps(secret.fields))
        for copied in (pickle.dumps, copy.copy, copy.deepcopy, json.dumps):
            with self.assertRaises(TypeError):
                copied(secret)

    def test_errors_of_the_service_have_its_code_and_details(self) -> None:
        self.refused("SECRET_NOT_FOUND", 404, self.secrets.get, "shop", "py/absent")
        self.refused("VAULT_NOT_FOUND", 404, self.secrets.get, "absent", "x")
        error = self.refused("VALIDATION_FAILED", 422, self.secrets.set, "shop", "py/../x", "v")
        self.assertTrue(error.details["fields"])
        for path in ("..", ".", "../../../auth/me", "a//b", "a/", "%2e%2e"):
            self.refused("VALIDATION_FAILED", 422, self.secrets.get, "shop", path)
        with Coffer(GIVEN["url"], token="cv_pat_wrong") as wrong:
            error = self.refused("INVALID_TOKEN", 401, wrong.secrets.get, "shop", "x")
            self.assertNotIn("cv_pat_wrong", str(error))
        self.assertEqual(pickle.loads(pickle.dumps(error)).code, "INVALID_TOKEN")

    def test_a_client_id_and_secret_reach_what_the_connection_may(self) -> None:
        with Coffer(GIVEN["url"], client_id=GIVEN["client_id"], client_secret=GIVEN["client_secret"]) as machine:
            self.assertEqual(machine.secrets.get("shop", "db/main").value, "for machines")
            with self.assertRaises(CofferError) as caught:
                machine.secrets.get("shop", "other/x")
            self.assertEqual(caught.exception.status, 403)

    def test_a_workload_logs_in(self) -> None:
        calls = []

        def credentials():
            calls.append(1)
            return {"oidc_token": GIVEN["oidc_token"]}

        with Coffer(GIVEN["url"], auth=workload_auth(GIVEN["method_id"], credentials)) as workload:
            for _ in range(3):
                self.assertEqual(workload.secrets.get("shop", "db/main").value, "for machines")
        self.assertEqual(len(calls), 1)
        with Coffer(GIVEN["url"], auth=workload_auth(GIVEN["method_id"], lambda: {"oidc_token": "x.y.z"})) as stranger:
            self.refused("LOGIN_DENIED", 401, stranger.secrets.get, "shop", "db/main")

    def test_a_ci_job_exchanges_its_id_token_and_shows_the_certificate(self) -> None:
        auth = ci_auth(GIVEN["ci_client_id"], lambda: GIVEN["id_token"])
        with Coffer(GIVEN["tls_url"], auth=auth, ca_file=GIVEN["ca_file"]) as job:
            self.assertEqual(job.secrets.get("shop", "db/main").value, "for machines")
        with Coffer(GIVEN["tls_url"], auth=ci_auth(GIVEN["ci_client_id"], "x.y.z"), ca_file=GIVEN["ca_file"]) as stranger:
            self.refused("LOGIN_DENIED", 401, stranger.secrets.get, "shop", "db/main")

    def test_a_certificate_of_an_unknown_root_is_refused(self) -> None:
        with Coffer(GIVEN["tls_url"], token=GIVEN["token"], retries=0) as coffer:
            with self.assertRaises(CofferError) as caught:
                coffer.secrets.get("shop", "db/main")
        self.assertEqual(caught.exception.code, "NO_ANSWER")
        self.assertIn("certificate", caught.exception.message)

    def test_settings_come_from_the_environment(self) -> None:
        os.environ.update(COFFER_URL=GIVEN["url"], COFFER_TOKEN=GIVEN["token"])
        try:
            with Coffer() as coffer:
                self.assertEqual(coffer.secrets.get("shop", "db/main").value, "for machines")
        finally:
            del os.environ["COFFER_URL"], os.environ["COFFER_TOKEN"]


if __name__ == "__main__":
    unittest.main()
