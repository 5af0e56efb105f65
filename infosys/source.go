package infosys

import (
	"context"

	"gridbroker/glue"
)

// Source is one place that publishes resources.
type Source interface {
	// Name is the URL as configured.
	Name() string
	// Resources reads what is published now. It honours ctx's deadline. It
	// may return resources together with an error when the answer was cut.
	Resources(ctx context.Context) ([]glue.Resource, error)
}

// Local is implemented by sources that answer at once from this machine;
// caching their answers would only make them old.
type Local interface{ Local() bool }

func uncached(s Source) bool {
	l, ok := s.(Local)
	return ok && l.Local()
}

// Keyed is implemented by sources whose answer depends on more than the name.
type Keyed interface{ CacheKey() string }

func cacheKey(s Source) string {
	if k, ok := s.(Keyed); ok {
		return k.CacheKey()
	}
	return s.Name()
}
