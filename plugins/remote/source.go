package remote

import (
	"context"
	"net/url"

	"gridbroker/glue"
	"gridbroker/infosys"
	"gridbroker/plugins"
)

// siteSource is what one site has, as a source of resources.
type siteSource struct {
	site      *Site
	resources func(ctx context.Context) ([]glue.Resource, error)
}

var (
	_ infosys.Source = (*siteSource)(nil)
	_ infosys.Owner  = (*siteSource)(nil)
)

// Source opens a URL as a source of resources.
func (b *Sites[S]) Source(u *url.URL) (plugins.Source, error) {
	s, err := b.At(u.String())
	if err != nil {
		return nil, err
	}
	return &siteSource{s.Common(), s.Resources}, nil
}

// Name implements infosys.Source.
func (s *siteSource) Name() string { return s.site.URL }

// Resources implements infosys.Source.
func (s *siteSource) Resources(ctx context.Context) ([]glue.Resource, error) { return s.resources(ctx) }

// Owns implements infosys.Owner: the site of this very URL.
func (s *siteSource) Owns(e glue.Endpoint) bool {
	return e.Interface == s.site.System.Interface && e.URL == s.site.URL
}
