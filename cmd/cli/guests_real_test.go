package cli_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// guestTrial is a way of starting guests and the share of starts within a minute
// of the booked one that it is held to.
type guestTrial struct {
	way   string
	flags []string
	share float64
}

// Local users keep a Slurm busy, guests come by the scheduler: a share of the
// bookings is kept that depends on the way. It takes the second Slurm for itself alone and
// minutes of time: GRID_LONG, GRID_GUESTS=30m for how long each way is tried.
func TestGuestsStartInTheirSlots(t *testing.T) {
	if os.Getenv("GRID_LONG") == "" {
		t.Skip("long tests only: GRID_LONG is not set")
	}
	length := 8 * time.Minute
	if text := os.Getenv("GRID_GUESTS"); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []guestTrial{
		{"begin", nil, 0.90},
		{"partition", []string{"--partition", "guest"}, 0.97},
		{"reservation", nil, 0.97},
	} {
		t.Run(c.way, func(t *testing.T) { c.run(t, length) })
	}
}

func (c guestTrial) run(t *testing.T, length time.Duration) {
	s := newScene(t, "/tmp").on(testbed.Env(t, "slurm2")["GRID_SLURM2_CONF"])
	defer s.slurm("scancel", "--user", strconv.Itoa(os.Getuid()))
	s.configure("", "slurm1 slurm:")
	for i := range s.replicas {
		s.serve(i)
	}
	s.start("agent", append([]string{"agent", "run", "--lrms", "slurm:", "--queue", "short", "--cluster", "slurm1", "--scheduler", s.url(0), "--ttl", "30s",
		"--token-file", "agent.token", "--start", c.way}, c.flags...)...)
	db, err := sql.Open("pgx", s.dsn())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	end := time.Now().Add(length)
	ctx, cancel := context.WithDeadline(t.Context(), end)
	defer cancel()
	locals := s.localUsers(ctx, "0.9")
	guests := s.guests(db, end)
	n := <-locals
	o := outcomesOf(t, db)
	t.Logf("%s: %d local jobs, %d guests handed in; of %d bookings %d began within a minute of their time (%.1f %%), mean chance told %.1f %%, %d within 2 s; %d gave way later",
		c.way, n, guests, o.all, o.kept, 100*float64(o.kept)/float64(o.all), 100*o.told/float64(o.all), o.exact, o.gaveWay)
	for why, n := range o.missed {
		t.Logf("%s: missed %d: %s", c.way, n, why)
	}
	if o.all < 20 || float64(o.kept) < c.share*float64(o.all) {
		t.Errorf("%s: %d of %d bookings kept, want a share of %.2f", c.way, o.kept, o.all, c.share)
	}
}

// on is the scene as users of another Slurm here see it.
func (s *scene) on(conf string) *scene {
	other := *s
	other.env = append(slices.Clone(s.env), "SLURM_CONF="+conf)
	return &other
}

// slurm runs a command of Slurm's.
func (s *scene) slurm(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Env, cmd.Dir = s.env, s.dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// localUsers begin to hand in a generated trace of 64 processors and a load, 120 times as
// fast, from its first morning until the context ends. Their jobs are counted then.
func (s *scene) localUsers(ctx context.Context, load string) <-chan int {
	s.must("sim", "workload", "--jobs", "3000", "--procs", "64", "--load", load, "--seed", "4", "--out", "local.swf")
	text, err := os.ReadFile(filepath.Join(s.dir, "local.swf"))
	if err != nil {
		s.t.Fatal(err)
	}
	count := make(chan int, 1)
	go func() {
		n, began := 0, time.Now()
		for line := range strings.Lines(string(text)) {
			due, args := localJob(line)
			if args == nil {
				continue
			}
			select {
			case <-ctx.Done():
				count <- n
				return
			case <-time.After(time.Until(began.Add(due))):
			}
			if out, err := s.slurm("sbatch", args...); err != nil {
				s.t.Errorf("sbatch: %v\n%s", err, out)
			}
			n++
		}
		count <- n
	}()
	return count
}

// localJob is when a job of a trace is handed in, and what sbatch is told; nil: before
// the morning, or no job.
func localJob(line string) (due time.Duration, args []string) {
	const faster, morning = 120, 36_000
	f := numbers(line)
	if len(f) < 9 || f[1] < morning {
		return 0, nil
	}
	submit, run, procs, limit := (f[1]-morning)/faster, max(1, f[3]/faster), f[4], max(f[3], f[8])/faster
	minutes := min(60, int(limit/60)+1)
	run = min(run, float64(60*minutes-5))
	return time.Duration(submit * float64(time.Second)), []string{"--output=/dev/null", "--partition=short",
		fmt.Sprint("--ntasks=", procs), fmt.Sprint("--time=", minutes), fmt.Sprintf("--wrap=sleep %.1f", run)}
}

// numbers are the fields of a line of a trace; none of a comment.
func numbers(line string) (list []float64) {
	for _, word := range strings.Fields(line) {
		v, err := strconv.ParseFloat(word, 64)
		if err != nil {
			return nil
		}
		list = append(list, v)
	}
	return list
}

// guests keeps ten jobs waiting at the scheduler until the end, and counts those
// handed in. Each runs for 30 to 100 % of what it asks for.
func (s *scene) guests(db *sql.DB, end time.Time) (n int) {
	draw := rand.New(rand.NewPCG(4, 15))
	for ; time.Now().Before(end); time.Sleep(2 * time.Second) {
		var waiting int
		if err := db.QueryRow("select count(*) from queue where state = 'waiting'").Scan(&waiting); err != nil {
			s.t.Error(err)
			return n
		}
		args := []string{"submit", "--via", s.url(1)}
		for ; waiting < 10; waiting++ {
			wall := 60 * (1 + draw.IntN(2))
			name := fmt.Sprintf("guest%d.jdl", n)
			s.write(name, fmt.Sprintf(`[ JobName = "guest%d"; Executable = "/bin/sleep"; Arguments = "%.1f"; WallTime = %d; ]`, n, float64(wall)*(0.3+0.65*draw.Float64()), wall))
			args = append(args, name)
			n++
		}
		if len(args) > 3 {
			if out, err := s.command(args...).CombinedOutput(); err != nil {
				s.t.Errorf("submit: %v\n%s", err, out)
			}
		}
	}
	return n
}

// outcomes are what became of the bookings whose time has come.
type outcomes struct {
	all, kept, exact, gaveWay int
	told                      float64        // sum of the chances they were told with
	missed                    map[string]int // by why
}

func outcomesOf(t *testing.T, db *sql.DB) outcomes {
	t.Helper()
	o := outcomes{missed: map[string]int{}}
	rows, err := db.Query("select job, event, said from log where event in ('booked', 'running', 'replan') order by id")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	chance := map[string]float64{} // of the booking that a job has
	for rows.Next() {
		var job, event, said string
		if err := rows.Scan(&job, &event, &said); err != nil {
			t.Fatal(err)
		}
		if event == "booked" {
			chance[job] = chanceIn(t, said)
			continue
		}
		if strings.Contains(said, "gave way") {
			o.gaveWay++
			continue
		}
		o.all++
		o.told += chance[job]
		if event == "replan" {
			o.missed[said]++
			continue
		}
		var off int
		if _, err := fmt.Sscanf(said, "%d s", &off); err != nil {
			t.Fatal(said, err)
		}
		switch {
		case off > 60 || off < -60:
			o.missed["began at another time"]++
		case off <= 2 && off >= -2:
			o.exact++
			fallthrough
		default:
			o.kept++
		}
	}
	return o
}

// chanceIn is the chance told with a booking.
func chanceIn(t *testing.T, said string) float64 {
	t.Helper()
	_, after, ok := strings.Cut(said, ", chance ")
	var percent float64
	if _, err := fmt.Sscanf(after, "%f", &percent); !ok || err != nil {
		t.Fatal(said, err)
	}
	return percent / 100
}
