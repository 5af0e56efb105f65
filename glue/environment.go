package glue

import "strings"

// CachedSuffix marks the soft tag of a runtime environment whose image is unpacked at a resource already: VEE-X.cached
// beside VEE-X. It tells how soon a job can start, never whether.
const CachedSuffix = ".cached"

// virtual begins the tags of environments that are deployed when a job asks for them; other tags are software that is
// there.
const virtual = "VEE-"

// Deployment is what a resource has to do before a job can start in a runtime environment.
type Deployment uint8

// The deployments.
const (
	NotPublished Deployment = iota // the resource does not publish the tag
	Installed                      // software that is there
	Cached                         // an environment whose image is unpacked there
	Deployable                     // an environment that is deployed when a job asks
)

// Deployment tells how a job would get the runtime environment of a tag, written as it is published.
func (r *Resource) Deployment(tag string) Deployment {
	there := false
	for _, t := range r.RuntimeEnvironments {
		if len(t) == len(tag)+len(CachedSuffix) && strings.EqualFold(t[:len(tag)], tag) && strings.EqualFold(t[len(tag):], CachedSuffix) {
			return Cached
		}
		there = there || strings.EqualFold(t, tag)
	}
	switch {
	case !there:
		return NotPublished
	case len(tag) > len(virtual) && strings.EqualFold(tag[:len(virtual)], virtual):
		return Deployable
	}
	return Installed
}
