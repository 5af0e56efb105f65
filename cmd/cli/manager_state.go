package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"gridbroker/forecast/managers/daemon"
	"gridbroker/foreign"
)

// Bounds of what managers tell: of one, of all of a tree, and how much of one is read while others are, too.
const (
	maxState  = 24 << 20 // 600,000 jobs
	maxStates = 32 << 20
	smallOne  = 256 << 10
	maxAmount = 300_000 // values beside the names of jobs
	askTime   = 10 * time.Second
)

// managerReader reads what managers of a tree tell. Its large documents come one after the other.
type managerReader struct {
	client *http.Client
	large  sync.Mutex
	mu     sync.Mutex
	read   int // bytes so far
}

// state asks a manager what it knows.
func (r *managerReader) state(ctx context.Context, name string) (*daemon.State, error) {
	var s daemon.State
	if err := r.ask(ctx, name, "/v1/state", &s); err != nil {
		return nil, err
	}
	return &s, nil
}

// ask reads one of a manager's documents.
func (r *managerReader) ask(ctx context.Context, name, path string, into any) error {
	if r.takes(0) {
		return fmt.Errorf("%s: %w", name, errStates)
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, name+path, nil)
	if err != nil {
		return err
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %q", name, resp.Status)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, smallOne))
	if err == nil && len(text) == smallOne {
		r.large.Lock()
		defer r.large.Unlock()
		text, err = readRest(text, resp.Body, r.left())
	}
	if err == nil {
		err = r.decode(text, into)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// readRest reads all of a large document, which has at most so many bytes.
func readRest(text []byte, rest io.Reader, most int) ([]byte, error) {
	all := bytes.NewBuffer(text)
	if _, err := io.Copy(all, io.LimitReader(rest, int64(most)+1)); err != nil {
		return nil, err
	}
	if all.Len() > most {
		return nil, errStates
	}
	return all.Bytes(), nil
}

var errStates = errors.New("it tells more than is read of a manager, or its tree does")

// decode takes a document in, if it is none of too many values.
func (r *managerReader) decode(text []byte, into any) error {
	many := func(v foreign.Values) bool {
		return v.Lists+v.Objects+v.Elements+v.Members-v.Texts > maxAmount || v.Texts > 10*maxAmount
	}
	if r.takes(len(text)) || many(foreign.CountValues(text, many)) {
		return errStates
	}
	return json.Unmarshal(text, into)
}

// left is how much more may be read of one.
func (r *managerReader) left() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return max(0, min(maxState, maxStates-r.read))
}

// takes takes down how much was read, and says whether that is too much.
func (r *managerReader) takes(bytes int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read += bytes
	return r.read >= maxStates
}
