package environment

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gridbroker/foreign"
)

// Exit codes of a launch that did not run the job, as env(1) and the shells have them. A job may end with 125 or 126
// itself: the file of --report tells one from the other.
const (
	exitNotDeployed = 125 // no tree, no launcher, a definition that is refused
	exitNotStarted  = 126 // the job's program is not there or does not start
)

// Main is the program of a node:
//
//	grid-launch run [--node FILE] [--sandbox DIR] [--report FILE] [--env NAME]... [--env-prefix PREFIX] [--image IMAGE]
//	    TAG -- COMMAND...
//	grid-launch which [--node FILE] [--image IMAGE] TAG...
//
// Variables of a job are given to it under a prefix, so that none of them (PATH, LD_PRELOAD) works on the launcher.
// Run supervises one job and passes on its exit code, or 128 plus the number of the signal that ended it. What it has to
// say itself goes to standard error, with exit codes 125 and 126, and to the file of --report, which is made only then.
// Which prints the one tag of the list that the node defines, nothing where it defines none; two are an error.
func Main(args []string, in, out, errs *os.File) int {
	verb := ""
	if len(args) > 1 {
		verb = args[1]
	}
	switch verb {
	case "init":
		return Init()
	case "enter", "veil", "box", "cell", "machine", "guest":
		return stage(args[1:], errs)
	case "run":
		return runJob(args[2:], in, out, errs)
	case "which":
		return which(args[2:], out, errs)
	}
	fmt.Fprintln(errs, "usage: grid-launch run [--node FILE] [--sandbox DIR] [--env NAME]... TAG -- COMMAND...")
	fmt.Fprintln(errs, "       grid-launch which [--node FILE] TAG...")
	return 2
}

func runJob(args []string, in, out, errs *os.File) int {
	l, err := parseLaunch(args, errs)
	if err != nil {
		fmt.Fprintln(errs, "grid-launch:", oneLine(err))
		return 2
	}
	code, err := l.run(in, out, errs)
	if err != nil {
		fmt.Fprintln(errs, "grid-launch:", oneLine(err))
		l.tell(err)
	}
	return code
}

// which prints the environment of a list of tags.
func which(args []string, out, errs *os.File) int {
	f := flag.NewFlagSet("grid-launch which", flag.ContinueOnError)
	f.SetOutput(errs)
	file := f.String("node", DefaultNode, "the node's settings")
	image := f.String("image", "", "image that the job brings")
	if f.Parse(args) != nil {
		return 2
	}
	node, err := ReadNode(*file)
	if err == nil {
		var d *Definition
		if d, err = node.chosen(f.Args(), *image); err == nil && d != nil {
			fmt.Fprintln(out, d.Tag)
		}
	}
	if err != nil {
		fmt.Fprintln(errs, "grid-launch:", oneLine(err))
		return exitNotDeployed
	}
	return 0
}

// launch is one call of grid-launch run.
type launch struct {
	node    string
	sandbox string
	report  string // file that says why a job did not run
	env     []string
	prefix  string // of variables to pass on without it
	image   string // that the job brings; the tag is UserImageTag
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
	f.StringVar(&l.report, "report", "", "file to say in why the job did not run")
	f.Func("env", "name of a variable to pass on to the job", func(name string) error {
		l.env = append(l.env, name)
		return nil
	})
	f.StringVar(&l.image, "image", "", "image that the job brings, docker://HOST/NAME@sha256:DIGEST or the folder of an unpacked one")
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

func (l *launch) run(in, out, errs *os.File) (int, error) {
	node, err := ReadNode(l.node)
	if err != nil {
		return exitNotDeployed, err
	}
	d, err := node.Wanted(l.tag, l.image)
	if err != nil {
		return exitNotDeployed, err
	}
	dir, err := filepath.Abs(l.sandbox)
	if err != nil {
		return exitNotDeployed, err
	}
	job := &Job{Definition: d, Sandbox: Sandbox{Dir: dir, Env: l.variables()}, Argv: l.argv}
	return node.Supervise(job, in, out, errs)
}

// tell writes the report of a job that did not run: "deploy WHY" or "start WHY". A job that ran to a limit has
// none, nor has one that was told to end.
func (l *launch) tell(err error) {
	_, limit := errors.AsType[*LimitError](err)
	if _, told := errors.AsType[*EndedError](err); l.report == "" || limit || told {
		return
	}
	line := "deploy " + oneLine(err)
	if e, ok := errors.AsType[*StartError](err); ok {
		line = "start " + strings.ReplaceAll(e.Why, "\n", " ")
	}
	os.WriteFile(l.report, []byte(line+"\n"), 0o600) // whoever asked for it takes a missing one for the job's own end
}

// oneLine is what an error says, in one line: there may be words of registries and images in it.
func oneLine(err error) string { return foreign.Text(strings.ReplaceAll(err.Error(), "\n", " ")) }

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
	for _, name := range allotted() {
		v, ok := os.LookupEnv(name)
		if ok && !slices.ContainsFunc(env, func(given string) bool { return strings.HasPrefix(given, name+"=") }) {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// allotted are the variables by which batch systems say which of a node's GPUs are the job's. Whoever starts the launcher,
// they are the job's as well: without them it would take those of others.
func allotted() []string {
	return []string{"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ZE_AFFINITY_MASK"}
}

// Deploy is the program that fills a node's cache: [--node FILE] [--image IMAGE] TAG...
func Deploy(ctx context.Context, args []string, fetch Fetch, codec Codec, errs io.Writer) int {
	f := flag.NewFlagSet("grid-deploy", flag.ContinueOnError)
	f.SetOutput(errs)
	file := f.String("node", DefaultNode, "the node's settings")
	image := f.String("image", "", "image that a job brings")
	if f.Parse(args) != nil {
		return 2
	}
	if err := deployAll(ctx, *file, f.Args(), *image, fetch, codec); err != nil {
		fmt.Fprintln(errs, "grid-deploy:", oneLine(err))
		return exitNotDeployed
	}
	return 0
}

func deployAll(ctx context.Context, file string, tags []string, image string, fetch Fetch, codec Codec) error {
	node, err := ReadNode(file)
	if err != nil {
		return err
	}
	node.Fetch, node.Codec = fetch, codec
	var list []*Definition
	if image != "" {
		d, err := node.UserImage(image)
		if err != nil {
			return err
		}
		list = append(list, d)
	}
	for _, tag := range tags {
		d, err := node.Definition(tag)
		if err != nil {
			return err
		}
		list = append(list, d)
	}
	for _, d := range list {
		tree, err := node.Tree(ctx, d)
		if err != nil {
			return err
		}
		tree.Close()
	}
	return nil
}
