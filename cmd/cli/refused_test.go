package cli_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/cmd/cli"
)

// refused are command lines that cannot be meant, and what is said to each.
const refused = `
agent queues --listen 0.0.0.0:0                                 | without --cert and --key only a loopback address
agent run                                                       | name the cluster, and the scheduler
agent run --start begin --lrms condor: --cluster c --listen :0  | --start begin: jobs cannot be told when to begin at condor:; say plain
agent run --start partition --cluster c --scheduler https://s   | --start partition: name it with --partition
agent run --start sometimes --cluster c --scheduler https://s   | say plain, begin, partition or reservation
agent run --ttl 1ms --cluster c --scheduler https://s           | --ttl 1ms: say 1s to 24h
agent schedule                                                  | want wiki://HOST:PORT
agent vres --interval 1ms                                       | --interval 1ms: say 1s or more
agent wiki serve                                                | give either --lrms URL or --resources FILE
agent wiki serve --lrms slurm: --resources r                    | give either --lrms URL or --resources FILE
agent wiki serve --lrms slurm: --workload w                     | --workload and --journal are for --resources
auth proxy --pwstdin --pwfile f                                 | --pwstdin and --pwfile: one of them
cache serve                                                     | no directory: give --dir DIR
cache serve --dir d                                             | no origin: give --origin URL
cache serve --dir d --origin https://o.example.org/ --cert c    | --cert and --key go together
cache serve --dir d --origin ftp://o.example.org/               | want an http or https URL whose path ends in /
follow --pause 0s                                               | --pause: say a time above 0
jdl new job.jdl                                                 | job.jdl is there already; --force replaces it
list --all 1m81m5y0p00001                                       | --all and ids: say one of them
list --columns id,colour                                        | no column "colour"; there are id, name
list --exit soon                                                | --exit soon: say an exit code, or a comparison
list --exit !=x                                                 | --exit !=x: say an exit code, or a comparison
list --limit -1                                                 | --limit -1: say a number of jobs
list -o yaml                                                    | --output yaml: say wide, json or csv
list --since yesterday                                          | --since yesterday: say 90m, 2h, 3d
list --since -3h                                                | --since -3h: say 90m, 2h, 3d
list --sort colour                                              | no column "colour"
list --where ((                                                 | --where: unexpected token
manager serve                                                   | --name "": want https://HOST:PORT
manager run -- true                                             | --via "": want https://HOST:PORT
match --limit -1 job.jdl                                        | --limit -1: say a number of resources
refresh --jdl job.jdl                                           | name jobs by id
run --cpus -1 -- true                                           | --cpus -1: say how many
run --gpu -2 -- true                                            | --gpu -2: say how many
list --limit x                                                  | "x" for --limit: want a whole number
agent run --speed fast                                          | "fast" for --speed: want a number
match --seed -1 job.jdl                                         | "-1" for --seed: want a whole number from 0
list --json=perhaps                                             | "perhaps" for --json: want true or false
run --mem lots -- true                                          | --mem lots: say a size, such as 2GB
run --time later -- true                                        | --time later: say a length, such as 90m
sim cache --seeds 0                                             | --seeds 0: want a number from 1
sim forecast                                                    | no trace: give --trace FILE
sim forecast --trace t --load 0                                 | --load 0: want a factor from 0.001 to 1000
sim cache --set nope=3                                          | nope = 3: no such parameter or value
sim forecast --trace t --skip 100                               | --skip 100: want a percentage from 0 to less than 100
sim queue --policy fcfs                                         | no trace: give --trace FILE
sim queue --at 5 --trace t                                      | --show, --at, --ask, --outcome and --maui-cfg are for Maui's traces
sim queue --trace t --ask 1@2                                   | --show, --at, --ask, --outcome and --maui-cfg are for Maui's traces
sim queue --trace t --maui X=1                                  | --maui applies only with --policy maui
sim queue --trace t --memory 5                                  | --memory applies only with --nodes
sim queue --trace t --plot-format gif                           | --plot-format "gif": want svg or png
sim queue --trace t --plots p --plot-size nanxinf               | --plot-size "nanxinf": want WIDTHxHEIGHT in centimetres
sim queue --trace t --policy nope                               | policy "nope": want one of fcfs, easy
sim queue --trace t --queue 1:max-wall=5                        | --queue applies only with --nodes
sim queue --trace t --resources r --show start --ask 1          | --ask "1": want PROCS@SECONDS
sim queue --resources r --show start                            | no trace: give --trace FILE, a workload trace of Maui's
sim queue --trace t --policy fcfs --load 0                      | --load 0: want a factor from 0.001 to 1000
sim queue --trace t --policy fcfs --nodes -1                    | --nodes -1, --memory 0: want 0 or more
sim queue --trace t --policy fcfs --procs -1                    | --procs -1: want a number from 1 to 2^30
sim queue --trace t --policy fcfs,easy --starts s               | --starts is for one policy, not 2
sim queue --show x                                              | want one of backfill, start, priority
sim tree --html w --sweep service=0,50                          | --starts and --html are for one combination, not 2
sim tree --job 5                                                | --job 5: want the number of a job whose way --html shows
sim tree --protocol both                                        | --protocol "both": want paper or ours
sim tree --set horizon=0                                        | horizon = 0: want a time up to 1e9 units
sim tree --set load=nan                                         | load = nan: no such parameter or value
sim tree --set systems=0                                        | systems = 0: want 1 to 100000
sim tree --set width=zero                                       | width = "zero": want one, uniform:N
sim tree --seeds 0                                              | --seeds 0: want a number from 1
sim tree --set colour=3                                         | colour = 3: no such parameter or value
sim tree --sweep systems                                        | want KEY=V1,V2 and so on
sim workload --jobs 0                                           | --jobs 0: want a number from 1 to 2^30
status --limit -1                                               | --limit -1: say a number of jobs
tags add                                                        | something is missing: grid tags add TAG...
tags add --store s -- -x                                        | tag "-x" does not begin with a letter
tags add --store s VO-x-y                                       | tag "VO-x-y" is a VO's: say which VO
tags publish glue1 --store s --subcluster x                     | --subcluster "x" is no DN, such as GlueSubClusterUniqueID=
tags publish slurm --store s                                    | nodes "": name them as Slurm does
submit --or-direct job.jdl                                      | there is no scheduler to go past; name one with --via
submit --scouts -1 job.jdl                                      | --scouts -1: say a number of jobs; 0: no limit
submit --via ftp://x job.jdl                                    | not a scheduler; want grid://host:port
`

// TestWhatCannotBeMeantIsRefused: each is a usage error that says what to write
// instead, prints nothing that a pipeline could take for an answer, and leaves no file
// (but for the empty records of verbs that look at more than flags).
func TestWhatCannotBeMeantIsRefused(t *testing.T) {
	for line := range strings.Lines(strings.TrimSpace(refused)) {
		args, want, _ := strings.Cut(strings.TrimSpace(line), "|")
		args, want = strings.TrimSpace(args), strings.TrimSpace(want)
		t.Run(args, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "job.jdl"), []byte(`Executable = "/bin/true";`), 0o600); err != nil {
				t.Fatal(err)
			}
			var out, said strings.Builder
			env := cli.Env{In: strings.NewReader(""), Out: &out, Err: &said, Dir: dir, UID: os.Geteuid(), Now: time.Now,
				Getenv: func(name string) string {
					return map[string]string{"HOME": dir, "GRID_STATE_DIR": filepath.Join(dir, "state")}[name]
				}}
			if code := cli.Main(t.Context(), env, strings.Fields(args)); code != 2 || !strings.Contains(said.String(), want) || out.Len() > 0 {
				t.Errorf("exit code %d, said %q, printed %q", code, said.String(), out.String())
			}
			err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
				looks := strings.HasPrefix(args, "submit --") || strings.HasPrefix(args, "refresh")
				if err == nil && !d.IsDir() && d.Name() != "job.jdl" && !(looks && filepath.Base(filepath.Dir(path)) == "state") {
					t.Errorf("it left %s", path)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}
