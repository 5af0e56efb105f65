package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/broker"
	"gridbroker/foreign"
	"gridbroker/jdl"
	"gridbroker/jdl/classad"
	"gridbroker/jdl/formats"
	"gridbroker/jobs"
	"gridbroker/plugins"
)

// runOptions say what a command needs that is run without a description.
type runOptions struct {
	planning
	name    string
	memory  string
	disk    string
	wall    string
	cpus    int
	gpus    int
	inputs  []string
	outputs []string
	rtes    []string
	env     []string
	require string
	dir     string
	stdin   string
	show    bool
	dryRun  bool
}

func runCmd(d *deps) *cobra.Command {
	var f runOptions
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARG...]",
		Short: "Run one command at the best resource, as if it ran here",
		Long: `Run writes the description of a job for a command, sends it to the best resource,
shows what it prints while it runs, brings its output files back and ends with
its exit code.

A command that is a file here travels with the job; any other is looked for
where the job runs. --in brings files and whole directories, --out names what
is brought back. The command reads nothing but what --stdin names. Interrupted at
a terminal, run asks whether the job shall go on.

Exit codes are the command's own; 125 says that there was no job to get one from.`,
		Example: `  grid run -- hostname
  grid run --mem 2GB --cpus 4 --time 2h --in data/ --out 'plots/*' -- ./analyse.sh run7
  grid run --stdin numbers.txt -- sort -n
  grid run --show --gpu 1 -- python3 train.py        # the description, and nothing is sent
  grid run --dry-run --gpu 1 -- python3 train.py     # where it would go`,
		Args: usageArgs(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.seeded = cmd.Flags().Changed("seed")
			if err := f.sensible(args); err != nil {
				return usageError(err)
			}
			return runCommand(cmd.Context(), d, f, args)
		},
	}
	f.register(cmd.Flags())
	g := cmd.Flags()
	otherProgram(cmd)
	g.StringVar(&f.name, "name", "", "`name` of the job (default: the command's)")
	g.StringVar(&f.memory, "mem", "", "memory of each slot: a `size` such as 2GB")
	g.StringVar(&f.disk, "disk", "", "scratch space of the job: a `size`")
	g.StringVar(&f.wall, "time", "", "wall time: a `length` such as 90m, 2h or 1:30:00")
	g.IntVar(&f.cpus, "cpus", 0, "`N` slots on one node")
	g.IntVar(&f.gpus, "gpu", 0, "`N` GPUs")
	g.StringArrayVar(&f.inputs, "in", nil, "`file` or directory to bring along; may be repeated")
	g.StringArrayVar(&f.outputs, "out", nil, "`file` or pattern to bring back; may be repeated")
	g.StringArrayVar(&f.rtes, "rte", nil, "runtime environment `TAG` the job needs; may be repeated")
	g.StringArrayVar(&f.env, "env", nil, "`NAME=VALUE` for the job; NAME alone: its value here; may be repeated")
	g.StringVar(&f.require, "require", "", "further Requirements: an `expression` of the JDL")
	g.StringVar(&f.dir, "dir", ".", "`directory` below which output files go")
	g.StringVar(&f.stdin, "stdin", "", "`file` that the command reads as its standard input")
	g.BoolVar(&f.show, "show", false, "print the description and send nothing")
	g.BoolVarP(&f.dryRun, "dry-run", "n", false, "show where it would go and send nothing")
	return cmd
}

// sensible tells whether the flags say amounts, and the command is none; what else is wrong the description tells.
func (f *runOptions) sensible(args []string) error {
	if _, err := strconv.Atoi(args[0]); err == nil && len(args) > 1 && args[1] == "--" { // srun -n 4
		return fmt.Errorf("%s is no command: processors are --cpus %s, and -n is --dry-run", args[0], args[0])
	}
	if f.cpus < 0 {
		return fmt.Errorf("--cpus %d: say how many", f.cpus)
	}
	if f.gpus < 0 {
		return fmt.Errorf("--gpu %d: say how many", f.gpus)
	}
	for _, size := range []struct{ flag, text string }{{"--mem", f.memory}, {"--disk", f.disk}} {
		if _, ok := jdl.ParseSize(size.text); !ok && size.text != "" {
			return fmt.Errorf("%s %s: say a size, such as 2GB or 500MB; a number alone counts in MB", size.flag, size.text)
		}
	}
	if length, ok := jdl.ParseDuration(f.wall, time.Second); f.wall != "" && (!ok || length <= 0) {
		return fmt.Errorf("--time %s: say a length, such as 90m, 2h or 1:30:00; a number alone counts in seconds", f.wall)
	}
	return nil
}

// exitNoJob is what run ends with where no job has ended that could give an exit code.
const exitNoJob = 125

func runCommand(ctx context.Context, d *deps, f runOptions, argv []string) error {
	text, err := describeCommand(d, f, argv)
	if err != nil {
		return usageError(err)
	}
	if f.show {
		return printText(d, "run.show", "jdl", text)
	}
	set, err := formats.ParseJobs("run", []byte(text), jdl.WithClock(d.env.Now), jdl.WithDir(d.env.Dir))
	if err != nil {
		return err
	}
	sayWarnings(d, set)
	sayLine(d, argv)
	sayLeft(d, f, argv[1:])
	f.planning = f.regarding(set.Jobs)
	n := needs{records: mustRecords, services: true, scouts: scouting{on: true, follow: true}}
	if f.dryRun {
		n.records = mayRecords
	}
	s, err := openSession(d, f.planning, n)
	if err != nil {
		return noJob(ctx, err)
	}
	defer s.close()
	memberOf(d, s.jobs.Rules, f.vo, set.Jobs)
	snap, err := look(ctx, d, s, f.discovery)
	if err != nil {
		return noJob(ctx, err)
	}
	p, err := planAll(ctx, s, []jobFile{{"run", set}}, references(snap))
	if err != nil {
		return noJob(ctx, err)
	}
	if f.dryRun {
		return dryRun(d, p, snap)
	}
	if err := unmatched(p); err != nil {
		if !d.json {
			explainUnmatched(d, p)
		}
		return err
	}
	return sendRun(ctx, d, s, p, set, f)
}

// sendRun sends the job and follows it.
func sendRun(ctx context.Context, d *deps, s *session, p *broker.Plan, set *jdl.JobSet, f runOptions) error {
	if err := canSend(ctx, d, s, p); err != nil {
		return noJob(ctx, err)
	}
	rs, err := s.jobs.Submit(ctx, p, set)
	if ctx.Err() != nil && len(rs) > 0 && rs[0].State == plugins.Intended {
		return interrupted{fmt.Sprintf("interrupted: the job was not sent, and is kept here; grid resubmit %s sends it", rs[0].ID)}
	}
	if err != nil {
		return noJob(ctx, err)
	}
	return runJob(ctx, d, s, rs[0], f)
}

// sayLine tells that a line for a shell was given for the name of a program.
func sayLine(d *deps, argv []string) {
	if len(argv) > 1 || !strings.ContainsAny(argv[0], " \t\n|;&<>") {
		return
	}
	if _, err := os.Stat(abs(d, argv[0])); err != nil {
		sayErr(d, "no program is called %q: grid run -- sh -c 'LINE' runs a line of a shell", argv[0])
	}
}

// sayLeft tells of arguments that are files here and do not travel: the command will not find them.
func sayLeft(d *deps, f runOptions, args []string) {
	brought := slices.Concat(f.inputs, f.outputs, []string{f.stdin})
	var left []string
	for _, name := range args {
		info, err := os.Stat(abs(d, name))
		if err != nil || !info.Mode().IsRegular() || filepath.IsAbs(name) || slices.Contains(left, name) ||
			slices.ContainsFunc(brought, func(in string) bool { return within(in, name) }) {
			continue
		}
		left = append(left, name)
	}
	if len(left) == 0 {
		return
	}
	more := ""
	if len(left) > 1 {
		more = fmt.Sprintf(" (and %d more)", len(left)-1)
	}
	sayErr(d, "%s%s is a file here, and stays here: --in %s brings it along", left[0], more, jdl.JoinArgs(left[:1]))
}

// within reports whether a name is that of a file or directory, or of something below it.
func within(dir, name string) bool {
	if dir == "" {
		return false
	}
	rest, err := filepath.Rel(dir, name)
	return err == nil && rest != ".." && !strings.HasPrefix(rest, "../")
}

// noJob is a failure of this program before there was a job: with the code 1 it could be taken for the command's own.
// What has a code of its own, as a mistake in the flags or that nothing matches, keeps it.
func noJob(ctx context.Context, err error) error {
	if ctx.Err() != nil || codeOf(ctx, err) != exitFailed {
		return err
	}
	return &exitError{exitNoJob, err}
}

// runJob follows the job, shows what it prints and brings its files.
func runJob(ctx context.Context, d *deps, s *session, o *jobs.Outcome, f runOptions) error {
	if o.Err != nil && !jobs.IsUncertain(o.Err) {
		return noJob(ctx, o.Err)
	}
	if d.verbose > 0 || d.env.ErrTerminal {
		sayErr(d, "%s at %s", o.ID, o.At)
	}
	st := &streams{deps: d, session: s, out: terminalSafe(d, d.env.Out), err: terminalSafe(d, d.env.Err)}
	out, said := shownText{most: maxShown}, shownText{most: maxShown}
	if d.json {
		st.out, st.err = &out, &said
	}
	err := s.jobs.Wait(ctx, []*jobs.Outcome{o}, jobs.Waiting{
		Discover: rediscover(d, s, f.discovery), Pause: 2 * time.Second, First: 10 * time.Millisecond,
		Seen: func(os []*jobs.Outcome) { st.follow(ctx, os[0]) },
	})
	if errors.Is(err, context.Canceled) {
		return runInterrupted(ctx, d, s, o)
	}
	if err != nil {
		return unfollowed(ctx, o, err)
	}
	if err := outputOfRun(ctx, d, s, o, f); err != nil {
		return unfollowed(ctx, o, err)
	}
	if d.json {
		if out.cut || said.cut {
			sayErr(d, "the job wrote more than the document holds: grid cat %s", o.ID)
		}
		if err := printJSON(d, "run", runDocument{&jobsJSON([]*jobs.Outcome{o}).Jobs[0], out.String(), said.String()}); err != nil {
			return err
		}
	}
	return runExit(o)
}

// unfollowed is a failure of this program when there was a job: how to go on with that.
func unfollowed(ctx context.Context, o *jobs.Outcome, err error) error {
	switch {
	case ctx.Err() != nil && o.Final():
		return interrupted{fmt.Sprintf("interrupted; job %s is %s: grid output %s", o.ID, o.State, o.ID)}
	case !o.Final():
		err = fmt.Errorf("%w\njob %s goes on: grid watch %s, then grid output %s", err, o.ID, o.ID, o.ID)
	case o.ExitCode != nil:
		err = fmt.Errorf("%w\njob %s is %s, with exit code %d: grid output %s", err, o.ID, o.State, *o.ExitCode, o.ID)
	}
	return noJob(ctx, err)
}

// mostExit is the greatest exit code that a process can end with.
const mostExit = 255

// runExit passes the job's exit code on.
func runExit(o *jobs.Outcome) error {
	if o.ExitCode != nil {
		if *o.ExitCode == 0 {
			return nil
		}
		code := *o.ExitCode
		if code < 0 || code > mostExit {
			code = mostExit // the system would keep its lowest bits, which may be 0
		}
		if o.Reason != "" { // as a shell says "Killed"
			return &exitError{code, fmt.Errorf("job %s: %s", o.ID, o.Reason)}
		}
		return &exitError{code, reported(fmt.Errorf("exit code %d", *o.ExitCode))}
	}
	return &exitError{exitNoJob, fmt.Errorf("job %s: %s: %s", o.ID, o.State, o.Reason)}
}

func outputOfRun(ctx context.Context, d *deps, s *session, o *jobs.Outcome, f runOptions) error {
	if len(f.outputs) == 0 || o.Handle.ID == "" {
		return nil
	}
	got, err := s.jobs.Output(ctx, []*jobs.Outcome{o}, jobs.Wanted{Dir: abs(d, f.dir), Files: f.outputs})
	if err == nil {
		err = o.Err
	}
	if err != nil {
		return err
	}
	if files := got[o.ID].Files; len(files) > 0 {
		sayErr(d, "%s in %s", counted(len(files), "file"), relative(d, got[o.ID].Dir))
		return nil
	}
	sayErr(d, "the job left nothing of %s", strings.Join(f.outputs, ", "))
	return nil
}

// runInterrupted asks, at a terminal, whether the job shall go on.
func runInterrupted(ctx context.Context, d *deps, s *session, o *jobs.Outcome) error {
	code := interruption(ctx)
	ask := d.env.InTerminal && !o.Final() && code == exitInterrupted
	if ask && d.env.Release != nil {
		d.env.Release() // whoever thinks about the answer is not to be ended for being slow
	}
	again, over := signal.NotifyContext(context.WithoutCancel(ctx), os.Interrupt) // as a no, with a word
	defer over()
	if ask && agreed(again, d, fmt.Sprintf("cancel %s (%s)", o.ID, foreign.Text(o.Name))) {
		ctx, stop := context.WithTimeout(again, 30*time.Second)
		defer stop()
		if err := s.jobs.Cancel(ctx, []*jobs.Outcome{o}); err != nil && again.Err() == nil {
			return err
		} else if err != nil {
			return &exitError{code, fmt.Errorf("interrupted; grid status %s tells whether the job goes on", o.ID)}
		}
		return &exitError{code, fmt.Errorf("cancelled %s", o.ID)}
	}
	return &exitError{code, fmt.Errorf("interrupted; the job goes on: grid watch %s, grid cancel %s", o.ID, o.ID)}
}

// describeCommand writes the description of a command's job.
func describeCommand(d *deps, f runOptions, argv []string) (string, error) {
	for _, name := range f.inputs {
		if _, err := os.Stat(abs(d, name)); err != nil {
			return "", fmt.Errorf("--in %s: %w", name, err)
		}
	}
	inputs := slices.Clone(f.inputs)
	if err := f.readable(d); err != nil {
		return "", err
	}
	if f.stdin != "" && !slices.Contains(inputs, f.stdin) {
		inputs = append(inputs, f.stdin)
	}
	executable, args := argv[0], argv[1:]
	if info, err := os.Stat(abs(d, executable)); err == nil && strings.Contains(executable, "/") && !info.IsDir() && !filepath.IsAbs(executable) {
		inputs = append(inputs, executable)
		executable = filepath.Base(executable)
	} else if !strings.Contains(executable, "/") {
		executable, args = "/usr/bin/env", argv
	}
	desc := &description{}
	desc.text("JobName", cmp.Or(f.name, filepath.Base(argv[0])))
	desc.text("Executable", executable)
	if len(args) > 0 {
		desc.text("Arguments", jdl.JoinArgs(args))
	}
	if f.stdin != "" {
		desc.text("StdInput", filepath.Base(f.stdin))
	}
	desc.text("StdOutput", "stdout.txt")
	desc.text("StdError", "stderr.txt")
	if slices.ContainsFunc(inputs, func(in string) bool { return in == argv[0] }) {
		desc.list("ExecutableFiles", []string{filepath.Base(argv[0])})
	}
	desc.list("InputSandbox", inputs)
	desc.list("OutputSandbox", append([]string{"stdout.txt", "stderr.txt"}, f.outputs...))
	return desc.needs(d, f), nil
}

// readable tells whether what --stdin names can be a job's standard input: a file,
// as the job may be sent again later.
func (f *runOptions) readable(d *deps) error {
	if f.stdin == "" {
		return nil
	}
	if f.stdin == "-" {
		return errors.New("--stdin -: a job may be sent again later, so it reads a file: save the text in one and name that")
	}
	switch info, err := os.Stat(abs(d, f.stdin)); {
	case err != nil:
		return fmt.Errorf("--stdin %s: %w", f.stdin, err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("--stdin %s: not a file", f.stdin)
	}
	return nil
}

// description is a JDL in the making, an attribute a line.
type description struct{ lines []string }

func (d *description) add(name, value string) {
	d.lines = append(d.lines, fmt.Sprintf("%-18s = %s;", name, value))
}

func (d *description) text(name, value string) {
	if value != "" {
		d.add(name, classad.UnparseValue(classad.StringValue(value)))
	}
}

func (d *description) list(name string, values []string) {
	if len(values) == 0 {
		return
	}
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = classad.UnparseValue(classad.StringValue(v))
	}
	d.add(name, "{"+strings.Join(quoted, ", ")+"}")
}

// needs adds what the command needs, and gives the whole text.
func (d *description) needs(a *deps, f runOptions) string {
	for _, n := range []struct {
		name string
		n    int
	}{{"CPUNumber", f.cpus}, {"GPUNumber", f.gpus}} {
		if n.n > 0 {
			d.add(n.name, strconv.Itoa(n.n))
		}
	}
	if f.cpus > 1 {
		d.add("SMPGranularity", strconv.Itoa(f.cpus))
	}
	d.text("Memory", f.memory)
	d.text("Disk", f.disk)
	d.text("WallTime", f.wall)
	d.list("RunTimeEnvironment", f.rtes)
	var env []string
	for _, v := range f.env {
		if !strings.Contains(v, "=") {
			v += "=" + a.env.Getenv(v)
		}
		env = append(env, v)
	}
	d.list("Environment", env)
	if f.require != "" {
		d.add("Requirements", f.require)
	}
	return strings.Join(d.lines, "\n") + "\n"
}
