package oidc

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net"
	"strings"
	"time"

	"gridbroker/asked"
	"gridbroker/credential"
)

// Agent is a running oidc-agent (its IPC: one JSON object each way over a
// socket).
type Agent struct {
	Socket  string // $OIDC_SOCK
	Account string // which of its accounts; or
	Issuer  string // any account of this issuer
}

type agentRequest struct {
	Request  string `json:"request"`
	Account  string `json:"account,omitempty"`
	Issuer   string `json:"issuer,omitempty"`
	MinValid int    `json:"min_valid_period"`
	Hint     string `json:"application_hint"`
	Scope    string `json:"scope,omitempty"`
	Audience string `json:"audience,omitempty"`
}

type agentReply struct {
	Status string `json:"status"`
	Error  string `json:"error"`
	Info   string `json:"info"`
	Token  string `json:"access_token"`
}

// Mint implements credential.Minter. The agent may ask the user; it has a
// minute for that.
func (a Agent) Mint(ctx context.Context, audience string, scopes []string) (*credential.Token, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	began := time.Now()
	reply, err := a.ask(ctx, agentRequest{Request: "access_token", Account: a.Account, Issuer: a.Issuer, MinValid: 300,
		Hint: "grid", Scope: strings.Join(scopes, " "), Audience: audience})
	if asked.Wanted(ctx) {
		asked.Tell(ctx, "ask oidc-agent at %s for a token of %s for %q: %s (%v)", a.Socket, cmp.Or(a.Account, a.Issuer), audience, came(reply, err), time.Since(began).Round(time.Millisecond))
	}
	if err != nil {
		return nil, finding("agent.unreachable", a.Socket, "oidc-agent does not answer", "start it again, and export the OIDC_SOCK it prints", err)
	}
	if reply.Status != "success" || reply.Token == "" {
		f := finding("agent.refused", a.Socket, "oidc-agent gave no token", "oidc-add "+a.Account, nil)
		f.Why = strings.TrimSpace(reply.Error + " " + reply.Info)
		return nil, f
	}
	return credential.ParseToken("oidc-agent", reply.Token)
}

// came is what came of a request, in no words of the agent's.
func came(reply *agentReply, err error) string {
	switch {
	case err != nil:
		return "no answer"
	case reply.Status != "success" || reply.Token == "":
		return "refused"
	}
	return "done"
}

func (a Agent) ask(ctx context.Context, req agentRequest) (*agentReply, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", a.Socket)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	text, err := json.Marshal(req)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write(text); err != nil {
		return nil, err
	}
	reply := &agentReply{}
	err = json.NewDecoder(io.LimitReader(conn, 1<<20)).Decode(reply)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return reply, err
}
