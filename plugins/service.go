package plugins

import (
	"context"
	"net/url"
	"time"

	"gridbroker/glue"
)

// Service is the Source of something that takes every job and finds it a place itself: a central scheduler, a tree of
// managers. It is one resource.
type Service struct {
	Endpoint  string // its URL
	Interface string
	Now       func() time.Time
}

// Name implements Source.
func (s Service) Name() string { return s.Endpoint }

// Local tells that there is nothing to cache.
func (s Service) Local() bool { return true }

// Owns tells that the service's endpoint is its own.
func (s Service) Owns(e glue.Endpoint) bool { return e.Interface == s.Interface && e.URL == s.Endpoint }

// Resources implements Source.
func (s Service) Resources(context.Context) ([]glue.Resource, error) {
	now := s.Now()
	return []glue.Resource{{ID: s.Endpoint, CEID: s.Endpoint, Name: s.Endpoint, Source: s.Endpoint, Schema: "self", Serving: glue.Production, Created: now, Fetched: now,
		Endpoints: []glue.Endpoint{{URL: s.Endpoint, Interface: s.Interface, Health: "ok", Serving: glue.Production}}}}, nil
}

// Redacted is a URL without its password; what is none is returned as it is.
func Redacted(raw string) string {
	if u, err := url.Parse(raw); err == nil {
		return u.Redacted()
	}
	return raw
}
