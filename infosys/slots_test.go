package infosys

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gridbroker/glue"
)

// TestSlotsOfSharedNodes: five queues and their views before the same nodes are
// one cluster; so are two CEs of one cluster.
func TestSlotsOfSharedNodes(t *testing.T) {
	var s Snapshot
	add := func(ce, queue, cluster, view string, free, total int64) {
		s.Resources = append(s.Resources, glue.Resource{Site: "S", CE: ce, Queue: queue, Cluster: cluster, ViewOf: view,
			FreeSlots: glue.Some(free), TotalSlots: glue.Some(total)})
	}
	for _, queue := range []string{"a", "b", "c"} {
		for _, ce := range []string{"ce1", "ce2"} {
			add(ce, queue, "farm", "", 40, 500)
			add(ce, queue, "farm", "atlas", 30, 500)
		}
	}
	add("ce3", "q", "", "", 7, 10)
	if n := s.Slots(); n != (Slots{Queues: 4, Free: 47, AtMost: 127, Total: 510}) {
		t.Errorf("%+v", n)
	}
}

// TestNoQueues: text of a directory without a queue says what it holds.
func TestNoQueues(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.ldif")
	text := "dn: GlueSiteUniqueID=A,o=grid\nobjectClass: GlueTop\nobjectClass: GlueSite\nobjectClass: GlueSchemaVersion\n\n" +
		"dn: GLUE2ServiceID=x,o=glue\nobjectClass: GLUE2Service\nobjectClass: GLUE2StorageService\n\ndn: ou=people\ncn: x\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := (&File{URL: "file:" + path, Path: path}).Resources(t.Context())
	none, ok := errors.AsType[*NoQueuesError](err)
	if !ok || none.Entries != 3 || strings.Join(none.Classes, ", ") != "1 GLUE2StorageService, 1 GlueSite, 1 ou" {
		t.Errorf("got %v", err)
	}
}
