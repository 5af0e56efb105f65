package local_test

import (
	"testing"

	"gridbroker/glue"
	"gridbroker/plugins"
	"gridbroker/plugins/local"
	"gridbroker/plugins/plugintest"
)

// The back-end behaves as all others.
func TestConformance(t *testing.T) {
	b := newBackend(t, local.Site{Name: "here", Slots: 2})
	plugintest.TestSubmitter(t, plugintest.Target{
		Submitter: b,
		Endpoint:  glue.Endpoint{URL: local.EndpointURL("here"), Interface: glue.InterfaceLocal},
		Stray:     plugins.Handle{Interface: glue.InterfaceLocal, Endpoint: local.EndpointURL("here"), ID: "no-such-job"},
	})
}
