package htcondor

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	"gridbroker/glue"
	"gridbroker/plugins"
	"gridbroker/plugins/remote"
)

// unconfined is a machine whose kernel keeps no command to a directory, and that counts what brings output.
type unconfined struct {
	neighbours
	asked, brought *int
}

func (u unconfined) Run(ctx context.Context, argv []string, in io.Reader, out io.Writer) error {
	if !slices.Contains(argv, "condor_transfer_data") {
		return u.neighbours.Run(ctx, argv, in, out)
	}
	if *u.asked++; *u.asked == 1 {
		return &remote.DialError{Err: remote.ErrUnconfined}
	}
	*u.brought++
	return nil
}

// Where the kernel cannot keep HTCondor's tool to a job's directory, it runs for pools that the user has named, and for
// no CE that others have.
func TestOutputWhereNothingIsConfined(t *testing.T) {
	for url, want := range map[string]int{"condor://pool.example.org:9618?schedd=s": 1, "https://ce.example.org:9619": 0} {
		b := New(Options{Options: remote.Options{Home: t.TempDir()}})
		defer b.Close()
		s, err := b.At(url)
		if err != nil {
			t.Fatal(err)
		}
		asked, brought := 0, 0
		s.Site.Machine = unconfined{neighbours{"outcomes": "job a\n"}, &asked, &brought}
		err = b.spoolOut(t.Context(), []plugins.Handle{{Interface: glue.InterfaceHTCondorCE, Endpoint: url, ID: "7.0/a"}})[0]
		if brought != want || (err == nil) != (want == 1) || err != nil && !errors.Is(err, remote.ErrUnconfined) {
			t.Errorf("%s: asked %d times, brought %d, %v", url, asked, brought, err)
		}
	}
}
