"""Shows that tools/history_to_elle.py makes Elle's list-append events of a history."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.environ.get("FOEDUS_SOURCE_DIR") or os.path.abspath(
    os.path.join(os.path.dirname(__file__), "..", ".."))
RUN = os.path.join(os.environ.get("FOEDUS_BIN_DIR", ""), "history_run")
STORAGES = """{"t":"header","seed":1}
{"t":"storage","st":0,"name":"tree","kind":"masstree","shape":"list"}
{"t":"storage","st":16,"name":"sequence","kind":"sequential","shape":"sequence"}
"""


def txn(number, begin, end, ops, out="committed", kind="serializable", epoch=1, process=1):
    end = f'"end":{end},' if end else ""
    return (f'{{"t":"txn","id":{number},"p":{process},"s":2,"begin":{begin},{end}'
            f'"kind":"{kind}","out":"{out}","epoch":{epoch},"ops":[{ops}]}}\n')


def event(index, kind, value, time, process=1002):
    return (f"{{:type :{kind}, :f :txn, :value {value}, :process {process}, :time {time}, "
            f":index {index}}}")


class HistoryToElleTest(unittest.TestCase):

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "history")

    def run_tool(self):
        return subprocess.run(
            [sys.executable, "-B", os.path.join(SOURCE, "tools", "history_to_elle.py"), self.path],
            capture_output=True, text=True, check=False)

    def convert(self, history):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(STORAGES + history)
        done = self.run_tool()
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.splitlines()

    def test_events_are_in_the_order_of_time(self):
        events = self.convert(
            txn(1, 10, 30, '["r",0,5,null],["append",0,5,16],["push",16,17]') +
            txn(2, 20, 40, '["r",0,5,[16]],["exists",0,5,true]'))
        self.assertEqual(events, [
            event(0, "invoke", '[[:r "0/5" nil] [:append "0/5" 16]]', 10),
            event(1, "invoke", '[[:r "0/5" nil]]', 20),
            event(2, "ok", '[[:r "0/5" []] [:append "0/5" 16]]', 30),
            event(3, "ok", '[[:r "0/5" [16]]]', 40)])

    def test_a_range_reads_its_rows_and_misses_up_to_its_limit(self):
        appends = txn(1, 10, 20, '["append",0,5,16],["append",0,7,17],["append",0,9,18]')
        rows = '[[5,[16]],[9,[18]]]'
        whole = self.convert(appends + txn(2, 30, 40, f'["range",0,0,20,false,null,{rows}]'))
        self.assertIn('[[:r "0/5" [16]] [:r "0/7" []] [:r "0/9" [18]]]', whole[3])
        cut = self.convert(appends + txn(2, 30, 40, '["range",0,0,20,false,1,[[5,[16]]]]'))
        self.assertIn(':value [[:r "0/5" [16]]]', cut[3])
        reverse = self.convert(appends + txn(2, 30, 40, '["range",0,0,20,true,1,[[7,[17]]]]'))
        self.assertIn('[[:r "0/7" [17]] [:r "0/9" []]]', reverse[3])

    def test_what_did_not_commit_fails_and_what_nobody_knows_is_info(self):
        append = '["append",0,5,16]'
        self.assertIn(":type :fail", self.convert(txn(1, 10, 20, append, "conflict"))[1])
        self.assertIn(":type :fail", self.convert(txn(1, 10, 20, append, "rolled_back"))[1])
        unknown = self.convert(txn(1, 10, 0, append, "unknown") + '{"t":"crash","p":1,"ns":50}\n')
        self.assertEqual(unknown[1], event(1, "info", '[[:append "0/5" 16]]', 50))

    def test_what_a_crash_undid_is_info(self):
        history = (txn(1, 10, 20, '["append",0,5,16]', epoch=4) +
                   txn(2, 30, 40, '["r",0,5,[16]],["append",0,5,32]', epoch=5) +
                   '{"t":"crash","p":1,"ns":50}\n{"t":"open","p":2,"epoch":4,"ns":60}\n' +
                   txn(3, 70, 80, '["r",0,5,[16]]', epoch=9, process=2))
        events = self.convert(history)
        self.assertEqual([re.search(r":type :(\w+)", line)[1] for line in events],
                         ["invoke", "ok", "invoke", "info", "invoke", "ok"])
        self.assertIn(":process 2002", events[5])

    def test_snapshots_are_left_out_and_registers_refused(self):
        self.assertEqual(self.convert(txn(1, 10, 20, '["r",0,5,[16]]', kind="as_of")), [])
        with open(self.path, "w", encoding="utf-8") as file:
            file.write('{"t":"header"}\n')
        done = self.run_tool()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("no storage of lists", done.stderr)

    @unittest.skipUnless(os.path.exists(RUN), "no history_run in this build")
    def test_a_recorded_history_becomes_one_event_at_a_time_of_each_process(self):
        done = subprocess.run(
            [RUN, "--dir", os.path.join(self.folder.name, "db"), "--history", self.path,
             "--workload", "list-append", "--txns", "3000", "--window", "1000", "--crashes", "1",
             "--crash_ms_max", "200", "--sessions", "3", "--memory_bytes", str(128 << 20)],
            capture_output=True, text=True, timeout=100, check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        edn = self.run_tool()
        self.assertEqual(edn.returncode, 0, edn.stderr)
        open_processes = set()
        time = 0
        count = 0
        for index, line in enumerate(edn.stdout.splitlines()):
            kind, process, now = re.search(
                rf":type :(\w+), .* :process (\d+), :time (\d+), :index {index}}}$", line).groups()
            self.assertGreaterEqual(int(now), time)
            time = int(now)
            if kind == "invoke":
                self.assertNotIn(process, open_processes)
                open_processes.add(process)
            else:
                open_processes.remove(process)
                count += 1
        self.assertEqual(open_processes, set())
        self.assertGreater(count, 1000)


if __name__ == "__main__":
    unittest.main()
