package environment

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"gridbroker/durable"
)

// A Node is a node's settings for environments, in a file of JSON that the site writes.
type Node struct {
	Definitions string `json:"definitions"` // folder of *.toml
	Cache       string `json:"cache"`       // folder of the node's cache
	Quota       int64  `json:"quota"`       // bytes; 0: 40 GB
	// UserCache is a folder that users may write, with a cache of each user below it by his uid: images that jobs bring are
	// unpacked there. Empty: they lie in Cache, as definitions' images do, and only its owner can bring any.
	UserCache string `json:"userCache,omitempty"`
	Policy    Policy `json:"policy"`

	// Program is grid-launch, which goes along into every environment; empty: this very process's program.
	Program string `json:"-"`
	// Fetch opens registries and Codec reads layers; where they are nil the program grid-deploy beside Program is run for an
	// image that is not cached.
	Fetch Fetch `json:"-"`
	Codec Codec `json:"-"`

	file string // where the settings were read
}

// ReadNode reads a node's settings; unknown keys are errors. Settings that somebody else than this user or root could have
// written are refused: they say whose images and signatures jobs believe.
func ReadNode(file string) (*Node, error) {
	f, err := durable.Open(file) // a pipe would wait for its writer
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := closedToOthers(file, ""); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		return nil, err
	}
	n := &Node{file: file}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(n); err != nil {
		return nil, misread(file, text, err)
	}
	if !cleanAbsolute(n.Definitions) || !cleanAbsolute(n.Cache) {
		return nil, fmt.Errorf("%s: definitions %q and cache %q must be absolute paths", file, n.Definitions, n.Cache)
	}
	if n.UserCache != "" && !cleanAbsolute(n.UserCache) {
		return nil, fmt.Errorf("%s: userCache %q must be an absolute path", file, n.UserCache)
	}
	for _, place := range n.Policy.UserFolders {
		if !cleanAbsolute(place) || place == "/" {
			return nil, fmt.Errorf("%s: UserFolders: %q must be an absolute path below /", file, place)
		}
	}
	return n, nil
}

// closedToOthers refuses a file that somebody else than this user or root could have written; or says what to do instead.
func closedToOthers(file, instead string) error {
	at, why, err := durable.OthersCanExchange(file, os.Geteuid())
	if err != nil || at == "" {
		return err
	}
	return fmt.Errorf("others could have written %s: of %s, %s: it and the folders that it lies in have to be root's, or this user's, and closed to the writing of others%s", file, at, why, instead)
}

// ours refuses definitions that others could have written, for which the site would answer all the same. Where the policy
// has signers, they do; on a file system that is read here alone (CVMFS) nobody here writes, whomever the files belong to.
func (n *Node) ours(file string) error {
	if len(n.Policy.Signers) > 0 || readOnly(file) {
		return nil
	}
	return closedToOthers(file, "; or the policy has to name who signs definitions")
}

// misread says at which line and column a file of JSON cannot be read.
func misread(file string, text []byte, err error) error {
	at := len(text) // it ends too early
	syntax, odd := errors.AsType[*json.SyntaxError](err)
	kind, other := errors.AsType[*json.UnmarshalTypeError](err)
	name, unknown := strings.CutPrefix(err.Error(), "json: unknown field ")
	switch {
	case odd:
		at = int(syntax.Offset) - 1
	case other:
		at = int(kind.Offset) - 1
	case unknown:
		at = bytes.Index(text, []byte(name))
	}
	before := text[:min(max(0, at), len(text))]
	return fmt.Errorf("%s:%d:%d: %w", file, 1+bytes.Count(before, []byte("\n")), len(before)-bytes.LastIndexByte(before, '\n'), err)
}

// An UnknownTagError is a tag that the node has no definition for.
type UnknownTagError struct{ Tag, Dir string }

func (e *UnknownTagError) Error() string { return fmt.Sprintf("no environment %q in %s", e.Tag, e.Dir) }

// Definition gives a tag's definition, if the site has it and its policy allows it. The file that bears the tag's name
// is read first, so that a job's start does not read all of a large folder; where the policy has signers such a file may be
// anybody's.
func (n *Node) Definition(tag string) (d *Definition, err error) {
	if len(n.Policy.Signers) == 0 {
		d, err = n.named(tag)
	}
	if d == nil && err == nil {
		var catalog *Catalog
		if catalog, err = n.Catalog(); err == nil {
			var ok bool
			if d, ok = catalog.Find(tag); !ok {
				err = catalog.Broken() // one of these may define it
			}
		}
	}
	switch {
	case err != nil:
		return nil, err
	case d == nil:
		return nil, &UnknownTagError{tag, n.Definitions}
	}
	return d, n.Allow(d)
}

// named reads the file that bears a tag's name; nil where there is none or it defines another tag.
func (n *Node) named(tag string) (*Definition, error) {
	if CheckTag(tag) != nil {
		return nil, nil
	}
	path := filepath.Join(n.Definitions, FileOfTag(tag))
	text, err := readDefinition(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = n.ours(path)
	}
	if err != nil {
		return nil, err
	}
	d, err := Parse(path, text)
	if err != nil || !SameTag(d.Tag, tag) {
		return nil, err
	}
	return d, nil
}

// Among gives the one definition that a list of tags asks for, nil where the node defines none of them: tags also stand
// for software that is simply there. Soft tags count for what they are about. Two environments are an error, also where
// the second is one that the node does not define.
func (n *Node) Among(tags []string) (*Definition, error) {
	var found *Definition
	for _, tag := range tags {
		d, err := n.Definition(strings.TrimSuffix(tag, CachedSuffix))
		if _, ok := errors.AsType[*UnknownTagError](err); ok {
			continue
		}
		if err != nil {
			return nil, err
		}
		if found != nil && found.Tag != d.Tag {
			return nil, fmt.Errorf("the job asks for environments %s and %s: it can run in one", found.Tag, d.Tag)
		}
		found = d
	}
	if i := slices.IndexFunc(tags, func(tag string) bool {
		return found != nil && IsVirtual(tag) && !SameTag(strings.TrimSuffix(tag, CachedSuffix), found.Tag)
	}); i >= 0 {
		return nil, fmt.Errorf("the job asks for environments %s and %s: it can run in one", found.Tag, tags[i])
	}
	return found, nil
}

// Store is the node's cache.
func (n *Node) Store() *Cache {
	return &Cache{Dir: n.Cache, Quota: n.Quota, Fetch: n.Fetch, Codec: n.Codec}
}

// storeOf is the cache that a definition's image lies in, or comes to lie in.
func (n *Node) storeOf(d *Definition) *Cache {
	c := n.Store()
	if n.UserCache != "" && d.Tag == UserImageTag && !c.usable(d.Digest) {
		c.Dir = filepath.Join(n.UserCache, strconv.Itoa(os.Geteuid()))
	}
	return c
}

func (n *Node) program() (string, error) {
	if n.Program != "" {
		return n.Program, nil
	}
	return os.Executable()
}

// fetching names the lock of those who want an image that is not here: one of them runs grid-deploy, the others wait.
const fetching = ".fetch"

// Tree gives the unpacked image of a definition, see Cache.Tree.
func (n *Node) Tree(ctx context.Context, d *Definition) (*Tree, error) {
	if d.isFolder() {
		t, err := n.openFolder(d)
		if err != nil {
			return nil, &DeployError{d.Tag, err}
		}
		return t, nil
	}
	store := n.storeOf(d)
	t, err := store.Tree(ctx, d)
	if !errors.Is(err, ErrNoRegistry) && !errors.Is(err, errNoCodec) || n.file == "" {
		return t, err
	}
	alone, err := store.lock(ctx, d.Digest+fetching, unix.F_WRLCK)
	if err != nil {
		return nil, &DeployError{d.Tag, err}
	}
	defer alone.Close()
	if store.usable(d.Digest) { // another one fetched it meanwhile
		return store.Tree(ctx, d)
	}
	if err := n.deploy(ctx, d); err != nil {
		return nil, &DeployError{d.Tag, err}
	}
	return store.Tree(ctx, d)
}

// deploy has grid-deploy, which lies beside our program, fetch and unpack an image.
func (n *Node) deploy(ctx context.Context, d *Definition) error {
	self, err := n.program()
	if err != nil {
		return err
	}
	args := []string{"--node", n.file, d.Tag}
	if d.Tag == UserImageTag {
		args = []string{"--node", n.file, "--image", d.Image + "@" + d.Digest}
	}
	cmd := exec.CommandContext(ctx, filepath.Join(filepath.Dir(self), "grid-deploy"), args...)
	cmd.SysProcAttr = endsWithParent()
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // it takes away what it has made so far
	cmd.WaitDelay = 10 * time.Second
	said, err := cmd.CombinedOutput()
	if _, ended := errors.AsType[*exec.ExitError](err); ended && len(said) > 0 {
		why := strings.TrimPrefix(strings.TrimSpace(string(said)), "grid-deploy: ")
		return errors.New(strings.TrimPrefix(why, (&DeployError{d.Tag, errors.New("")}).Error()))
	}
	return err
}

// Supervise deploys a job's environment, runs the job in it and passes on the signals that this process gets. The code
// is the job's own, or says with the error that it did not run, or ran to a limit.
func (n *Node) Supervise(job *Job, in, out, errs *os.File) (int, error) {
	_, code, err := n.supervise(job, in, out, errs)
	return code, err
}

// Try runs a job, such as a definition's test, for what it shows of its environment: its exit code. It is an *EndedError
// where this process was told to end meanwhile, and another error where the environment could not be made: neither shows
// anything.
func (n *Node) Try(job *Job, out *os.File) (int, error) {
	outcome, code, err := n.supervise(job, nil, out, out)
	_, ended := errors.AsType[*EndedError](err)
	switch {
	case outcome.Told != 0:
		return code, &EndedError{outcome.Told}
	case ended || code == exitNotDeployed && err != nil:
		return code, err
	}
	return code, nil
}

func (n *Node) supervise(job *Job, in, out, errs *os.File) (outcome Outcome, code int, err error) {
	signals := make(chan os.Signal, 16)
	defer func() { go signal.Stop(signals) }() // which takes longer than a launcher's process lives now
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go watchParent(ctx, os.Getppid(), cancel)

	tree, err := n.deployed(ctx, job.Definition, signals)
	if told, ok := errors.AsType[*EndedError](err); ok {
		return outcome, 128 + int(told.By), err
	}
	if err != nil {
		return outcome, exitNotDeployed, err
	}
	defer tree.Close()
	job.Tree = tree.Path
	self, err := n.program()
	if err != nil {
		return outcome, exitNotDeployed, err
	}
	outcome, err = Launch(ctx, self, job, RunOptions{Stdin: in, Stdout: out, Stderr: errs, Signals: signals})
	if _, ok := errors.AsType[*StartError](err); ok {
		return outcome, exitNotStarted, err
	}
	if err != nil {
		return outcome, exitNotDeployed, err
	}
	if err := tree.Check(); err != nil {
		fmt.Fprintln(errs, "grid-launch:", oneLine(err))
	}
	return outcome, outcome.Code(), explainLimits(job.Definition, outcome)
}

// An EndedError is a job that was told to end before its environment was there, or before it had shown what it was to show.
type EndedError struct{ By syscall.Signal }

func (e *EndedError) Error() string { return fmt.Sprintf("told to end (%v)", e.By) }

// deployed is Tree for a job that is told to end by signals: deploying ends then as well, and takes away what it made.
func (n *Node) deployed(ctx context.Context, d *Definition, signals chan os.Signal) (*Tree, error) {
	if n.storeOf(d).usable(d.Digest) {
		return n.Tree(ctx, d) // no time to be told anything
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	done, listened := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(listened)
		select {
		case sig := <-signals:
			number, _ := sig.(syscall.Signal)
			cancel(&EndedError{number})
		case <-done:
		}
	}()
	tree, err := n.Tree(ctx, d)
	close(done)
	<-listened // signals are the job's from here on
	if told, ok := errors.AsType[*EndedError](context.Cause(ctx)); ok {
		if tree != nil {
			tree.Close()
		}
		return nil, told
	}
	return tree, err
}

// A LimitError is a job that its environment's definition ended.
type LimitError struct{ Tag, What string }

func (e *LimitError) Error() string {
	return fmt.Sprintf("the job reached the limit of environment %s: %s", e.Tag, e.What)
}

func explainLimits(d *Definition, o Outcome) error {
	switch {
	case o.OutOfTime:
		return &LimitError{d.Tag, fmt.Sprintf("it reached the wall time, %v", time.Duration(d.Limits.WallTime))}
	case o.OutOfSpace:
		return &LimitError{d.Tag, fmt.Sprintf("it had more memory than %d bytes", d.Limits.Memory)}
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
