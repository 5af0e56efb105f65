package environment_test

import (
	"testing"

	"gridbroker/environment"
	"gridbroker/glue"
)

// What a node publishes as cached is what the broker reads as cached: the two packages know nothing of each other.
func TestSoftTagsAreReadAsTheyArePublished(t *testing.T) {
	if environment.CachedSuffix != glue.CachedSuffix {
		t.Fatalf("published as TAG%s, read as TAG%s", environment.CachedSuffix, glue.CachedSuffix)
	}
}
