package environment

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"gridbroker/environment/layers"
)

// What is wanted first is deployed and stays; what does not fit beside it within the quota is left out, and room is made
// by what nobody wants.
func TestPrepareKeepsWithinTheQuota(t *testing.T) {
	n := newNode(t, "")
	body := strings.Repeat("0123456789abcdef", 1<<16) // 1 MB that hardly counts when it is compressed
	for _, name := range []string{"A", "B", "C"} {
		layout := n.path("layout-" + name)
		digest := layoutOf(t, layout, gzipOf, tarOf(t, entry{name: "file", body: name + body, kind: '0', mode: 0o644}))
		n.write("definitions/"+name+".toml", fmt.Sprintf("tag = \"VEE-%s\"\nimage = \"oci:%s\"\ndigest = %q\n", name, layout, digest))
	}
	node := &Node{Definitions: n.path("definitions"), Cache: n.path("ahead"), Quota: 2_500_000, Codec: layers.Codec{}}
	state := func(tags ...string) string {
		var out []string
		for _, p := range node.Prepare(context.Background(), tags) {
			word := "deployed"
			switch quota := (*QuotaError)(nil); {
			case errors.As(p.Err, &quota):
				word = "no room"
			case p.Err != nil:
				word = p.Err.Error()
			case !p.Fresh:
				word = "there"
			}
			out = append(out, p.Tag+" "+word)
		}
		return strings.Join(out, ", ")
	}
	for _, step := range []struct {
		want []string
		is   string
	}{
		{[]string{"VEE-A", "VEE-B"}, "VEE-A deployed, VEE-B deployed"},
		{[]string{"VEE-B", "VEE-C"}, "VEE-B there, VEE-C deployed"}, // A goes
		{[]string{"VEE-C", "VEE-Z"}, "VEE-C there, VEE-Z no environment \"VEE-Z\" in " + node.Definitions},
	} {
		if got := state(step.want...); got != step.is {
			t.Errorf("%v: %s, want %s", step.want, got, step.is)
		}
	}
	list, err := node.Store().List()
	var sum int64
	for _, e := range list {
		sum += e.Bytes
	}
	if err != nil || len(list) != 2 || sum > node.Quota {
		t.Errorf("%d trees of %d bytes, %v", len(list), sum, err)
	}
	node.Quota = 1_500_000
	if got := state("VEE-C", "VEE-A"); got != "VEE-C there, VEE-A no room" {
		t.Errorf("in a small cache: %s", got)
	}
	if list, _ = node.Store().List(); len(list) != 1 {
		t.Errorf("%d trees in a cache that has room for one", len(list))
	}
}
