package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"gridbroker/environment"
)

func envRunCmd(d *deps, open openNode) *cobra.Command {
	var sandbox, image string
	var vars []string
	cmd := &cobra.Command{
		Use:   "run TAG [-- COMMAND [ARG...]]",
		Short: "Run a command in an environment, as jobs are run",
		Long: `Run deploys the environment if it is not cached, and runs a command in it exactly
as a job: isolated, bounded, in a sandbox folder. Without a command it is
/bin/sh. The exit code is the command's own, or 128 plus the number of the
signal that ended it; 125 says that the environment could not be made, 126 that
the command does not start. SIGTERM, SIGINT and SIGHUP are passed on to it.`,
		Example: `  grid env run VEE-Debian11 -- cat /etc/os-release
  grid env run VEE-Debian11 --sandbox work --env SEED -- ./analyse.sh
  grid env run VEE-UserImage --image docker://registry.example.org/me/tool@sha256:... -- tool`,
		Args: usageArgs(cobra.MinimumNArgs(1)), ValidArgsFunction: completeTags(open, false),
		RunE: func(_ *cobra.Command, args []string) error {
			argv := args[1:]
			if len(argv) == 0 {
				argv = []string{"/bin/sh"}
			}
			job := &environment.Job{Argv: argv}
			var err error
			if job.Sandbox.Env, err = chosenVariables(d, vars); err != nil {
				return err
			}
			if job.Sandbox.Dir, err = openSandbox(d, sandbox); err != nil {
				return err
			}
			node, err := wanted(d, open, job, args[0], image)
			if err != nil {
				return err
			}
			return runEnvironment(d, node, job)
		},
	}
	cmd.Flags().StringVar(&sandbox, "sandbox", ".", "`DIR` that the command sees as its working directory")
	cmd.Flags().StringVar(&image, "image", "", "`IMAGE` that a job brings, docker://HOST/NAME@sha256:DIGEST or the folder of an unpacked one, with the tag VEE-UserImage")
	cmd.Flags().StringArrayVar(&vars, "env", nil, "`NAME` of a variable to pass on, or NAME=VALUE; may be repeated")
	return cmd
}

// wanted gives a job its environment. What keeps it from that is no exit code of a command.
func wanted(d *deps, open openNode, job *environment.Job, tag, image string) (*environment.Node, error) {
	node, err := open()
	if err == nil {
		node.Program, err = launchProgram(d)
	}
	if err == nil {
		job.Definition, err = node.Wanted(tag, image)
	}
	if err != nil {
		return nil, &exitError{exitNoJob, err}
	}
	return node, nil
}

// chosenVariables are those that a command line names. One that is not set is left out.
func chosenVariables(d *deps, vars []string) (env []string, err error) {
	for _, v := range vars {
		name, _, given := strings.Cut(v, "=")
		if name == "" {
			return nil, usageError(fmt.Errorf("--env %q: want NAME or NAME=VALUE", v))
		}
		if given {
			env = append(env, v)
			continue
		}
		for _, set := range d.env.Environ {
			if strings.HasPrefix(set, name+"=") {
				env = append(env, set)
			}
		}
	}
	return env, nil
}

// openSandbox is the folder that a command works in.
func openSandbox(d *deps, dir string) (string, error) {
	dir = abs(d, dir)
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is no folder", dir)
	}
	if err != nil {
		return "", usageError(fmt.Errorf("--sandbox: %w", err))
	}
	return dir, nil
}

// runEnvironment runs a command as long as it takes: signals are the command's own from here on.
func runEnvironment(d *deps, node *environment.Node, job *environment.Job) error {
	if d.env.Release != nil {
		d.env.Release()
	}
	code, err := node.Supervise(job, streamFile(d.env.In, os.Stdin), streamFile(rawOut(d), os.Stdout), streamFile(d.rawErr, os.Stderr))
	if err != nil {
		return &exitError{code, err}
	}
	if code != 0 {
		return &exitError{code, errReported}
	}
	return nil
}

// streamFile is the file behind a stream, which a process can be given.
func streamFile(stream any, or *os.File) *os.File {
	if w, ok := stream.(*written); ok {
		stream = w.to
	}
	if f, ok := stream.(*os.File); ok {
		return f
	}
	return or
}

func envVerifyCmd(d *deps, open openNode) *cobra.Command {
	return &cobra.Command{
		Use: "verify [TAG...]", Short: "Compare cached environments with what was unpacked",
		Long: `Verify compares the unpacked images of the node's cache with what was unpacked:
every name, mode, size, time and link. One that was changed is reported, and
exit code 1 says so; the next job that asks for it unpacks it anew.`,
		Example: "  grid env verify", ValidArgsFunction: completeTags(open, true),
		RunE: func(_ *cobra.Command, tags []string) error {
			node, err := open()
			if err != nil {
				return err
			}
			digests, err := cachedDigests(node, tags)
			if err != nil {
				return err
			}
			return verifyTrees(d, node.Store(), digests)
		},
	}
}

// cachedDigests are those of the tags that are cached, of all that are cached without tags.
func cachedDigests(node *environment.Node, tags []string) (digests []string, err error) {
	if len(tags) == 0 {
		entries, err := node.Store().List()
		for _, e := range entries {
			digests = append(digests, e.Digest)
		}
		return digests, err
	}
	for _, tag := range tags {
		d, err := node.Definition(tag)
		if err != nil {
			return nil, err
		}
		if !node.Store().Cached(d.Digest) {
			return nil, fmt.Errorf("environment %s is not cached", tag)
		}
		digests = append(digests, d.Digest)
	}
	return digests, nil
}

func verifyTrees(d *deps, cache *environment.Cache, digests []string) error {
	bad := 0
	doc := verifiedDocument{Environments: []verifiedTree{}}
	for _, digest := range digests {
		err := cache.Verify(digest)
		poisoned, ok := errors.AsType[*environment.PoisonedError](err)
		switch {
		case ok:
			bad++
			doc.Environments = append(doc.Environments, verifiedTree{Digest: digest, Why: poisoned.Error()})
			sayErr(d, "%v", poisoned)
		case err != nil:
			return err
		default:
			doc.Environments = append(doc.Environments, verifiedTree{Digest: digest, Whole: true})
			if !d.json {
				sayOut(d, "%s is as it was unpacked", digest)
			}
		}
	}
	if d.json {
		if err := printJSON(d, "env.verify", doc); err != nil {
			return err
		}
	}
	if bad > 0 {
		return errReported
	}
	return nil
}
