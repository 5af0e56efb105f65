package htcondor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"gridbroker/jdl/classad"
	"gridbroker/plugins"
	"gridbroker/plugins/remote"
)

// Fetch implements plugins.Fetcher: the files that came back from the node.
// From a schedd over the network they are brought here first.
func (b *Backend) Fetch(ctx context.Context, jobs []plugins.FetchRequest, p plugins.Progress) []plugins.FetchResult {
	hs := make([]plugins.Handle, len(jobs))
	for i, j := range jobs {
		hs[i] = j.Handle
	}
	errs := b.spoolOut(ctx, hs)
	out := remote.Fetch(ctx, jobs, b.Where, p)
	for i, err := range errs {
		if err != nil && out[i].Err != nil {
			out[i].Err = err
		}
	}
	return out
}

// List implements plugins.Lister.
func (b *Backend) List(ctx context.Context, hs []plugins.Handle) []plugins.FetchResult {
	b.spoolOut(ctx, hs)
	return remote.List(ctx, hs, b.Where)
}

// spoolOut brings what jobs left in the spool of a schedd over the network to
// their directories here, those that have it already aside.
func (b *Backend) spoolOut(ctx context.Context, hs []plugins.Handle) []error {
	return remote.Each(hs, b.Split, func(s *site, jobIDs, ids []string) error {
		if !s.network {
			return nil
		}
		have, err := remote.Outcomes(ctx, s.Site, ids)
		if err != nil {
			return err
		}
		var bring, dirs []string
		for i, id := range ids {
			if o, there := have[id]; there && !o.Done {
				bring, dirs = append(bring, jobIDs[i]), append(dirs, s.Dir("jobs", id))
			}
		}
		if len(bring) == 0 {
			return nil
		}
		_, err = s.schedd(remote.WritesBelow(ctx, dirs), "condor_transfer_data", bring...) // the schedd tells it where to
		if errors.Is(err, remote.ErrUnconfined) && !s.foreign {
			_, err = s.schedd(ctx, "condor_transfer_data", bring...)
		}
		return err
	})
}

// maxPeek bounds what is read of the stream of a running job, in bytes:
// condor_tail gives the last bytes of it, and only of a whole one it is known
// where they stand.
const maxPeek = 32 << 20

// Peek implements plugins.Peeker. Of a running job HTCondor shows standard
// output and error; an ended one has all its outputs.
func (b *Backend) Peek(ctx context.Context, h plugins.Handle, name string, offset int64, w io.Writer) (int64, error) {
	s, jobID, id, ok, err := b.Split(h)
	if err == nil && (!ok || !remote.SafeName(name)) {
		err = &plugins.Error{Kind: plugins.Refused, Op: "peek", Endpoint: h.Endpoint, Said: fmt.Sprintf("no file %q of job %s", name, h.ID)}
	}
	if err != nil {
		return 0, err
	}
	n, err := s.Read(ctx, id, path.Join("out/work", name), offset, w)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return n, err
	}
	stream, err := s.stream(ctx, id, name)
	if err != nil {
		return 0, err
	}
	text, err := s.schedd(ctx, "condor_tail", append(stream, "-maxbytes", strconv.Itoa(maxPeek), jobID)...)
	if e, ok := errors.AsType[*plugins.Error](err); ok && strings.Contains(e.Said, "does not support remote access") {
		e.Kind, e.Hint = plugins.Refused, "it runs behind a CE, or not as a job of its own: its files can be seen when it has ended"
	}
	if err != nil {
		return 0, err
	}
	if len(text) >= maxPeek {
		return 0, s.Fail("peek", fmt.Errorf("%s is longer than %d bytes: HTCondor shows only its end while the job runs", name, maxPeek))
	}
	n, err = io.Copy(w, strings.NewReader(text[min(int64(len(text)), max(0, offset)):]))
	return n, err
}

// stream are the options by which condor_tail shows a file of a job.
func (s *site) stream(ctx context.Context, id, name string) ([]string, error) {
	stdout, stderr, err := s.Streams(ctx, id)
	if err != nil {
		return nil, err
	}
	switch path.Clean(name) {
	case path.Clean(stdout):
		return nil, nil
	case path.Clean(stderr):
		return []string{"-stderr"}, nil
	}
	return nil, &plugins.Error{Kind: plugins.Refused, Op: "peek", Endpoint: s.URL,
		Said: fmt.Sprintf("%s: HTCondor shows only standard output and error of a running job", name)}
}

// Log implements plugins.Logger: HTCondor's event log of the job, then what
// job.sh wrote on the node; of a job that waits, why it does. While the log lies in the spool of a schedd over
// the network, the job's ad is shown instead.
func (b *Backend) Log(ctx context.Context, h plugins.Handle, w io.Writer) error {
	s, jobID, id, err := b.Job("log", h)
	if err != nil {
		return err
	}
	found := false
	for _, name := range []string{"events", "out/log"} {
		_, err := s.Read(ctx, id, name, 0, w)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		found = found || err == nil
	}
	if found {
		return s.logWait(ctx, jobID, w)
	}
	text, err := s.schedd(ctx, "condor_q", "-long", jobID)
	if err == nil && strings.TrimSpace(text) == "" {
		err = remote.NoJob("log", h)
	}
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, text)
	return err
}

// logWait says of an idle job which slots could run it, and what stands in the way.
func (s *site) logWait(ctx context.Context, jobID string, w io.Writer) error {
	text, err := s.schedd(ctx, "condor_q", "-json", jobID, "-constraint", "JobStatus == 1")
	if err != nil || strings.TrimSpace(text) == "" {
		return err
	}
	jobs, err := classad.ReadJSON("job", []byte(text))
	if err != nil {
		return s.Fail("condor_q", err)
	}
	slots, err := s.readSlots(ctx)
	if err != nil || len(jobs) == 0 {
		return err
	}
	return analyse(jobs[0], slots).write(w)
}
