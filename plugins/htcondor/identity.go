package htcondor

import (
	"context"
	"strings"
)

// identityAt is who we are to the schedd, as it names the owners of jobs: what an
// ad says of its batch or id anybody can have written, but not whose it is.
// "": the schedd does not say, and then all ads count.
func identityAt(ctx context.Context, s *site) string {
	s.mu.Lock()
	known := s.me
	s.mu.Unlock()
	if known != "" {
		return known
	}
	text, err := s.schedd(ctx, "condor_ping", "-type", "schedd", "-verbose", "WRITE")
	if err != nil {
		return ""
	}
	me := mapping(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.me = me
	return me
}

// mapping reads condor_ping: "Remote Mapping: alice@pool".
func mapping(text string) string {
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(name) != "Remote Mapping" {
			continue
		}
		user, domain, _ := strings.Cut(strings.TrimSpace(value), "@")
		if domain == "unmapped" || user == "unauthenticated" || user == "anonymous" {
			return ""
		}
		return user
	}
	return ""
}

// isOurs tells whether a job's owner is me, as far as both are known.
func isOurs(me, owner string) bool { return me == "" || owner == me }
