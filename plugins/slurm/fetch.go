package slurm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"gridbroker/plugins"
	"gridbroker/plugins/remote"
)

// Fetch implements plugins.Fetcher: the files of the job's directory.
func (b *Backend) Fetch(ctx context.Context, jobs []plugins.FetchRequest, p plugins.Progress) []plugins.FetchResult {
	return remote.Fetch(ctx, jobs, b.Where, p)
}

// List implements plugins.Lister.
func (b *Backend) List(ctx context.Context, hs []plugins.Handle) []plugins.FetchResult {
	return remote.List(ctx, hs, b.Where)
}

// Peek implements plugins.Peeker.
func (b *Backend) Peek(ctx context.Context, h plugins.Handle, name string, offset int64, w io.Writer) (int64, error) {
	s, id, err := b.Where(h)
	if err == nil && !remote.SafeName(name) {
		err = &plugins.Error{Kind: plugins.Refused, Op: "peek", Endpoint: h.Endpoint, Said: fmt.Sprintf("no file %q of job %s", name, h.ID)}
	}
	if err != nil {
		return 0, err
	}
	return s.Read(ctx, id, path.Join("work", name), offset, w)
}

// Log implements plugins.Logger: the log of job.sh, then what Slurm has to say.
func (b *Backend) Log(ctx context.Context, h plugins.Handle, w io.Writer) error {
	s, slurmID, id, err := b.Job("log", h)
	if err != nil {
		return err
	}
	_, err = s.Read(ctx, id, "log", 0, w)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, serr := s.Command(ctx, "scontrol", "show", "job", slurmID)
	if serr != nil {
		if text, err = s.Command(ctx, "sacct", "--long", "--parsable2", "--jobs="+slurmID); err != nil {
			return serr
		}
	}
	_, err = io.WriteString(w, text)
	return err
}
