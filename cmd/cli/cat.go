package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gridbroker/jobs"
	"gridbroker/plugins"
)

type catOptions struct {
	sel         selection
	named       []string // the file, if one is named
	follow      bool
	errorStream bool
}

func catCmd(d *deps) *cobra.Command {
	o := catOptions{sel: selection{reads: true}}
	cmd := &cobra.Command{
		Use:   "cat [-f] [ID] [FILE]",
		Short: "Show what a job has written, also while it runs",
		Long: `Cat prints a file of a job: its standard output, with --err its standard error,
or the file that is named. With --follow it goes on until the job has ended.

Instead of by its id the job can be chosen by --name, --group, --where and the like,
as in other verbs; what these mean must be one job.`,
		Example: `  grid cat 1m7y8
  grid cat -f 1m7y8
  grid cat --err 1m7y8
  grid cat 1m7y8 histograms.log | tail
  grid cat -f --name fit`,
		Args:              usageArgs(cobra.MaximumNArgs(2)),
		ValidArgsFunction: completeOneID(d),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.named = args; len(args) > 0 && !(o.sel.given() && len(args) == 1) {
				o.sel.ids, o.named = args[:1], args[1:]
			}
			return runCat(cmd.Context(), d, o)
		},
	}
	cmd.Flags().BoolVarP(&o.follow, "follow", "f", false, "go on until the job has ended")
	o.sel.register(cmd)
	cmd.Flags().BoolVarP(&o.errorStream, "err", "e", false, "standard error instead of standard output")
	return cmd
}

func runCat(ctx context.Context, d *deps, o catOptions) error {
	return withJobs(ctx, d, o.sel, func(s *session, rs []*jobs.Outcome) error {
		if len(rs) != 1 {
			return usageError(errors.New(manyChosen(o.sel, rs)))
		}
		name, err := fileOf(rs[0], o.named, o.errorStream)
		if err != nil {
			return err
		}
		return catJob(ctx, d, s, rs[0], name, o.follow)
	})
}

// manyChosen says that not one job was named, and which were.
func manyChosen(sel selection, rs []*jobs.Outcome) string {
	said := "what is asked for names " + counted(len(rs), "job")
	if len(sel.ids) > 0 {
		said = sel.ids[0] + " names " + counted(len(rs), "job")
	}
	for i, r := range rs {
		if i == 3 {
			said += ", .."
			break
		}
		said += []string{": ", ", ", ", "}[i] + r.ID
	}
	return said + "; cat shows one"
}

// fileOf is the file that is meant: one that is named, or one of the job's streams.
func fileOf(o *jobs.Outcome, named []string, errorStream bool) (string, error) {
	if len(named) > 0 {
		return named[0], nil
	}
	job, err := o.Job()
	if err != nil {
		return "", err
	}
	name, attr := job.StdOutput, "StdOutput"
	if errorStream {
		name, attr = job.StdError, "StdError"
	}
	if name == "" {
		return "", usageError(fmt.Errorf("job %s: its description has no %s; name a file", o.ID, attr))
	}
	return name, nil
}

func catJob(ctx context.Context, d *deps, s *session, o *jobs.Outcome, name string, follow bool) error {
	if d.json {
		return catJSON(ctx, d, s, o, name)
	}
	f := &catFile{name: name, to: terminalSafe(d, d.env.Out)}
	if !follow {
		err := f.more(ctx, s.jobs, o)
		if f.absent && err == nil {
			sayErr(d, "%s is not there yet: job %s is %s", name, o.ID, o.State)
		}
		return err
	}
	err := s.jobs.Wait(ctx, []*jobs.Outcome{o}, jobs.Waiting{
		Discover: rediscover(d, s, discovery{}), Pause: 2 * time.Second,
		Seen: func(os []*jobs.Outcome) {
			if err := f.more(ctx, s.jobs, os[0]); err != nil && os[0].Final() {
				sayErr(d, "%s", err)
			}
		},
	})
	if errors.Is(err, context.Canceled) {
		return interrupted{"interrupted; the job goes on: grid cat -f " + o.ID}
	}
	return err
}

// catJSON prints what there is of a file now.
func catJSON(ctx context.Context, d *deps, s *session, o *jobs.Outcome, name string) error {
	text := shownText{most: maxShown}
	if err := (&catFile{name: name, to: &text}).more(ctx, s.jobs, o); err != nil {
		return err
	}
	return printJSON(d, "cat", catDocument{ID: o.ID, File: name, Text: text.String()})
}

// maxShown bounds what a document holds of one file of a job, or of the back-ends' logs of all its jobs, in bytes.
const maxShown = 16 << 20

// shownText is the text of a file for a document.
type shownText struct {
	strings.Builder
	most int  // bytes, of which a control character has six
	cut  bool // there is more
}

// Write implements io.Writer.
func (t *shownText) Write(p []byte) (int, error) {
	for i, c := range p {
		if t.most--; c < ' ' && c != '\n' && c != '\t' {
			t.most -= len(`\u0000`) - 1
		}
		if t.most < 0 {
			t.cut = true
			n, _ := t.Builder.Write(p[:i])
			return n, errShown
		}
	}
	return t.Builder.Write(p)
}

// errShown is the end of what is shown.
var errShown = fmt.Errorf("there is more than the %d MiB that are shown", maxShown>>20)

// catFile is a file of a job as far as it was shown.
type catFile struct {
	name    string
	offset  int64
	attempt string // at whose end the offset counts
	absent  bool   // it was not there when it was last looked for
	to      io.Writer
}

// more shows what was written since the last call. A file that is not there yet is no error while the job goes on.
func (f *catFile) more(ctx context.Context, c *jobs.Controller, o *jobs.Outcome) error {
	if f.attempt != o.Handle.ID {
		f.attempt, f.offset = o.Handle.ID, 0
	}
	n, err := c.Peek(ctx, o, f.name, f.offset, f.to)
	f.offset += n
	f.absent = errors.Is(err, fs.ErrNotExist)
	if f.absent && !o.Final() && o.State != plugins.Running {
		return nil
	}
	return err
}

// streams shows what a job prints, both streams, as it grows.
type streams struct {
	deps     *deps
	session  *session
	out, err io.Writer
	files    []*catFile
}

func (st *streams) follow(ctx context.Context, o *jobs.Outcome) {
	if o.State != plugins.Running && o.State != plugins.Finishing && !o.Final() || o.Handle.ID == "" {
		return
	}
	if st.files == nil {
		st.files = []*catFile{
			{name: "stdout.txt", to: st.out},
			{name: "stderr.txt", to: st.err},
		}
	}
	for _, f := range st.files {
		if err := f.more(ctx, st.session.jobs, o); err != nil && o.Final() && st.deps.verbose > 0 {
			sayErr(st.deps, "%s: %v", f.name, err)
		}
	}
}
