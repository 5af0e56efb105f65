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
	"slices"
	"strings"
	"time"

	"gridbroker/forecast/wire"
	"gridbroker/plugins"
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

// call asks the scheduler about this cluster, at one of its replicas.
func (a web) call(ctx context.Context, method, about string, body []byte) (text []byte, err error) {
	path := "/v1/clusters/" + url.PathEscape(a.Conf.Cluster) + about
	a.replicas.Ask(ctx, func(base string, last bool) plugins.Standing {
		patience := askTime
		if about != aboutReady && !last { // one that hangs is waited for less long where there are others
			patience /= 3
		}
		text, err = a.askAt(ctx, base+path, patience, method, body)
		return standing(method, err)
	})
	return text, err
}

// standing is how a replica has left a request that ended with an error.
func standing(method string, err error) plugins.Standing {
	no, refused := errors.AsType[*RefusedError](err)
	dial, ok := errors.AsType[*net.OpError](err)
	switch {
	case err == nil, refused && !unwell(err):
		return plugins.Answered
	case method == http.MethodGet, refused && no.Code == http.StatusServiceUnavailable, ok && dial.Op == "dial":
		return plugins.Undone
	}
	return plugins.Doubtful
}

// Published is what an agent's scheduler has of its cluster; nothing is changed there. It is an error where the agent does not speak
// for the cluster.
func Published(ctx context.Context, a *Agent) (*wire.Ack, error) {
	a.prepare()
	if a.Conf.Scheduler == "" {
		return &wire.Ack{}, nil
	}
	return a.Link.Have(ctx)
}

// AskReplicas asks each of several replicas of an agent's scheduler whether it is up, and knows this agent as one
// of its cluster. What the agent has to tell next goes to one that answered.
func AskReplicas(ctx context.Context, a *Agent, tell func(replica string, err error)) {
	a.prepare()
	if len(a.replicas.Bases) < 2 {
		return
	}
	for _, replica := range a.replicas.Bases {
		tell(replica, known(ctx, a, replica))
	}
}

// known asks one of them.
func known(ctx context.Context, a *Agent, replica string) error {
	text, err := web{a}.askAt(ctx, replica+"/v1/ping", askTime/3, http.MethodGet, nil)
	if err != nil {
		if ctx.Err() == nil {
			a.replicas.Pass(replica)
		}
		return err
	}
	var pong struct {
		LetIn bool     `json:"let_in"`
		Sites []string `json:"sites"`
	}
	if err := json.Unmarshal(text, &pong); err != nil {
		return errors.New("it does not answer as a scheduler does")
	}
	if !pong.LetIn || !slices.Contains(pong.Sites, a.Conf.Cluster) {
		return fmt.Errorf("it does not know this agent as one of %s", a.Conf.Cluster)
	}
	return nil
}

// askAt sends one request, and waits for its answer for so long.
func (a web) askAt(ctx context.Context, at string, patience time.Duration, method string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, at, bytes.NewReader(body))
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
	return strings.TrimSpace(words[:min(len(words), 1000)])
}
