package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"gridbroker/forecast/wire"
)

// Link is how an agent speaks to its scheduler. A scheduler's "no" is a RefusedError.
// What is handed over belongs to both sides from then on: neither changes it.
type Link interface {
	// Delta tells what has changed.
	Delta(ctx context.Context, d *wire.Delta) (*wire.Ack, error)
	// Beat tells that what was told last still holds.
	Beat(ctx context.Context, b *wire.Beat) (*wire.Ack, error)
	// Have asks what the scheduler has of the cluster.
	Have(ctx context.Context) (*wire.Ack, error)
}

// web is the link by HTTP.
type web struct{ *Agent }

// Delta implements Link.
func (a web) Delta(ctx context.Context, d *wire.Delta) (*wire.Ack, error) {
	body, err := a.packer.Delta(d)
	if err != nil {
		return nil, err
	}
	a.Meter.sentBytes.Observe(float64(len(body)))
	return a.request(ctx, http.MethodPost, aboutSlots, body)
}

// Beat implements Link.
func (a web) Beat(ctx context.Context, b *wire.Beat) (*wire.Ack, error) {
	body, err := json.Marshal(b)
	if err != nil {
		return nil, err
	}
	return a.request(ctx, http.MethodPost, aboutLife, body)
}

// Have implements Link.
func (a web) Have(ctx context.Context) (*wire.Ack, error) {
	return a.request(ctx, http.MethodGet, aboutSlots, nil)
}

func (a web) request(ctx context.Context, method, about string, body []byte) (*wire.Ack, error) {
	text, err := a.call(ctx, method, about, body)
	if err != nil {
		return nil, err
	}
	return wire.DecodeAck(text, wire.DefaultLimits())
}

// call asks the scheduler about this cluster's slots: the replica that answered last, as long as it
// does. Where it is known that one has done nothing the next one is asked at once; where that is in
// doubt, next time.
func (a web) call(ctx context.Context, method, about string, body []byte) (text []byte, err error) {
	all := strings.Split(a.Conf.Scheduler, ",")
	for range all {
		at := a.replica.Load()
		if text, err = a.askAt(ctx, all[int(at)%len(all)], method, about, body); err == nil || len(all) == 1 || ctx.Err() != nil {
			return text, err
		}
		no, refused := errors.AsType[*RefusedError](err)
		if refused && !unwell(err) {
			return text, err
		}
		a.replica.CompareAndSwap(at, at+1)
		dial, ok := errors.AsType[*net.OpError](err)
		undone := method == http.MethodGet || refused && no.Code == http.StatusServiceUnavailable || ok && dial.Op == "dial"
		if !undone {
			return text, err
		}
	}
	return text, err
}

// askAt asks one replica. One that hangs is waited for less long where there are others.
func (a web) askAt(ctx context.Context, base, method, about string, body []byte) ([]byte, error) {
	patience := askTime
	if about != aboutReady && strings.Contains(a.Conf.Scheduler, ",") {
		patience /= 3
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	to := strings.TrimSuffix(base, "/") + "/v1/clusters/" + url.PathEscape(a.Conf.Cluster) + about
	req, err := http.NewRequestWithContext(ctx, method, to, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/octet-stream")
	token := ""
	if a.Token != nil {
		if token, err = a.Token(); err != nil {
			return nil, err
		}
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := a.HTTP.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, wire.DefaultLimits().Bytes))
	if resp.StatusCode == http.StatusUnauthorized {
		a.HTTP.CloseIdleConnections() // what this one showed has run out; there may be a newer one
	}
	if err == nil && resp.StatusCode/100 != 2 {
		err = &RefusedError{resp.StatusCode, said(text, token)}
	}
	return text, err
}

// RefusedError is a scheduler's "no".
type RefusedError struct {
	Code int
	Said string
}

// Error implements error.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("the scheduler says %d: %s", e.Code, e.Said)
}

// said is the detail of a problem document, or the beginning of the text, without
// the token that was shown.
func said(text []byte, token string) string {
	var problem struct {
		Detail string `json:"detail"`
	}
	words := string(text)
	if json.Unmarshal(text, &problem) == nil && problem.Detail != "" {
		words = problem.Detail
	}
	if token != "" {
		words = strings.ReplaceAll(words, token, "[our token]")
	}
	return words[:min(len(words), 1000)]
}
