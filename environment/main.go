package environment

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

// Exit codes of a launch that did not run the job, as env(1) and the shells have them: a job of its own exit code 125 or
// 126 is taken for one.
const (
	ExitNotDeployed = 125 // no tree, no launcher, a definition that is refused
	ExitNotStarted  = 126 // the job's program is not there or does not start
)

// A Node is a node's settings for environments, in a file of JSON that the site writes.
type Node struct {
	Definitions string `json:"definitions"` // folder of *.toml
	Cache       string `json:"cache"`       // folder of the node's cache
	Quota       int64  `json:"quota"`       // bytes; 0: 40 GB
	Policy      Policy `json:"policy"`

	// Program is grid-launch, which goes along into every environment; empty: this very process's program.
	Program string `json:"-"`
}

// Main is the program of a node:
//
//	grid-launch run [--node FILE] [--sandbox DIR] [--env NAME]... [--env-prefix PREFIX] TAG -- COMMAND...
//
// Variables of a job are given to it under a prefix, so that none of them (PATH, LD_PRELOAD) works on the launcher.
// It supervises one job and passes on its exit code, or 128 plus the number of the signal that ended it. What it has to
// say itself goes to standard error, with exit codes 125 and 126.
func Main(args []string, in, out, errs *os.File) int {
	if len(args) == 2 && args[1] == "init" {
		return Init()
	}
	if len(args) < 2 || args[1] != "run" {
		fmt.Fprintln(errs, "usage: grid-launch run [--node FILE] [--sandbox DIR] [--env NAME]... TAG -- COMMAND...")
		return 2
	}
	l, err := parseLaunch(args[2:], errs)
	if err != nil {
		fmt.Fprintln(errs, "grid-launch:", err)
		return 2
	}
	code, err := l.run(in, out, errs)
	if err != nil {
		fmt.Fprintln(errs, "grid-launch:", err)
	}
	return code
}

// launch is one call of grid-launch run.
type launch struct {
	node    string
	sandbox string
	env     []string
	prefix  string // of variables to pass on without it
	tag     string
	argv    []string
}

// DefaultNode is where a node's settings lie.
const DefaultNode = "/etc/grid/node.json"

func parseLaunch(args []string, errs io.Writer) (*launch, error) {
	l := &launch{}
	f := flag.NewFlagSet("grid-launch run", flag.ContinueOnError)
	f.SetOutput(errs)
	f.StringVar(&l.node, "node", DefaultNode, "the node's settings")
	f.StringVar(&l.sandbox, "sandbox", ".", "the job's folder")
	f.Func("env", "name of a variable to pass on to the job", func(name string) error {
		l.env = append(l.env, name)
		return nil
	})
	f.StringVar(&l.prefix, "env-prefix", "", "pass on the variables that begin so, without it")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	rest := f.Args()
	if len(rest) < 3 || rest[1] != "--" {
		return nil, errors.New("a tag, -- and a command are needed")
	}
	l.tag, l.argv = rest[0], rest[2:]
	return l, nil
}

// ReadNode reads a node's settings; unknown keys are errors.
func ReadNode(file string) (*Node, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	n := &Node{}
	dec := json.NewDecoder(io.LimitReader(f, 1<<20))
	dec.DisallowUnknownFields()
	if err := dec.Decode(n); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if !cleanAbsolute(n.Definitions) || !cleanAbsolute(n.Cache) {
		return nil, fmt.Errorf("%s: definitions %q and cache %q must be absolute paths", file, n.Definitions, n.Cache)
	}
	return n, nil
}

// Definition gives a tag's definition, if the site has it and its policy allows it.
func (n *Node) Definition(tag string) (*Definition, error) {
	catalog, err := ReadCatalog(n.Definitions)
	if err != nil {
		return nil, err
	}
	d, ok := catalog.Find(tag)
	if !ok {
		return nil, fmt.Errorf("no environment %q in %s", tag, n.Definitions)
	}
	return d, n.Policy.Check(d, true)
}

func (l *launch) run(in, out, errs *os.File) (int, error) {
	node, err := ReadNode(l.node)
	if err != nil {
		return ExitNotDeployed, err
	}
	d, err := node.Definition(l.tag)
	if err != nil {
		return ExitNotDeployed, err
	}
	dir, err := filepath.Abs(l.sandbox)
	if err != nil {
		return ExitNotDeployed, err
	}
	job := &Job{Definition: d, Sandbox: Sandbox{Dir: dir, Env: l.variables()}, Argv: l.argv}
	return node.Supervise(job, in, out, errs)
}

func (l *launch) variables() []string {
	var env []string
	if l.prefix != "" {
		for _, v := range os.Environ() {
			if given, ok := strings.CutPrefix(v, l.prefix); ok {
				env = append(env, given)
			}
		}
	}
	for _, name := range l.env {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// Store is the node's cache.
func (n *Node) Store() *Cache { return &Cache{Dir: n.Cache, Quota: n.Quota} }

func (n *Node) program() (string, error) {
	if n.Program != "" {
		return n.Program, nil
	}
	return os.Executable()
}

// Supervise deploys a job's environment, runs the job in it and passes on the signals that this process gets. The code
// is the job's own, or says with the error that it did not run.
func (n *Node) Supervise(job *Job, in, out, errs *os.File) (int, error) {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, PassedSignals()...)
	defer signal.Stop(signals)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go watchParent(ctx, os.Getppid(), cancel)

	tree, err := n.Store().Tree(ctx, job.Definition)
	if err != nil {
		return ExitNotDeployed, err
	}
	defer tree.Close()
	job.Tree = tree.Path
	self, err := n.program()
	if err != nil {
		return ExitNotDeployed, err
	}
	outcome, err := Launch(ctx, self, job, RunOptions{Stdin: in, Stdout: out, Stderr: errs, Signals: signals})
	if _, ok := errors.AsType[*StartError](err); ok {
		return ExitNotStarted, err
	}
	if err != nil {
		return ExitNotDeployed, err
	}
	return outcome.Code(), explainLimits(job.Definition, outcome)
}

func explainLimits(d *Definition, o Outcome) error {
	switch {
	case o.OutOfTime:
		return fmt.Errorf("the job reached the wall time of environment %s, %v", d.Tag, time.Duration(d.Limits.WallTime))
	case o.OutOfSpace:
		return fmt.Errorf("the job had more memory than environment %s gives, %d bytes", d.Tag, d.Limits.Memory)
	}
	return nil
}

// watchParent ends the job when the process that started this one has gone: batch systems kill shells further up, and
// a job whose starter died is not wanted any more.
func watchParent(ctx context.Context, parent int, cancel func()) {
	for tick := time.NewTicker(time.Second); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
			if os.Getppid() != parent {
				cancel()
			}
		}
	}
}
