package slurm

import (
	"fmt"
	"strings"
	"testing"

	"gridbroker/glue"
)

// TestBarred: which partitions a user of no group but nogroup and of two accounts could start jobs in, in a 22.05 and a 24.11, which
// said no to his group at submission (22.05) or let the job wait (the rest).
func TestBarred(t *testing.T) {
	parts := records(`PartitionName=p AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL
PartitionName=pgrp AllowGroups=games AllowAccounts=ALL AllowQos=ALL
PartitionName=pacct AllowGroups=ALL AllowAccounts=other AllowQos=ALL
PartitionName=pdeny AllowGroups=ALL DenyAccounts=grid AllowQos=ALL
PartitionName=pqos AllowGroups=ALL AllowAccounts=ALL AllowQos=high
PartitionName=ok AllowGroups=nogroup AllowAccounts=grid AllowQos=normal
`)
	for assoc, want := range map[string]string{
		"":                                      "map[ok:false p:false pacct:false pdeny:false pgrp:true pqos:false]", // no accounting
		"grid||normal||||\n":                    "map[ok:false p:false pacct:true pdeny:true pgrp:true pqos:true]",
		"grid||normal||||\nother||normal||||\n": "map[ok:false p:false pacct:false pdeny:false pgrp:true pqos:true]",
		"other||normal,high||||\n":              "map[ok:true p:false pacct:false pdeny:false pgrp:true pqos:false]",
	} {
		all := rules{user: "nobody", groups: []string{"nogroup"}}
		all.limited(assoc, "normal||||\nhigh||||\n")
		if got := fmt.Sprint(all.barred(parts)); got != want {
			t.Errorf("%q: %s, want %s", assoc, got, want)
		}
		for _, p := range parts { // a source says the same
			var r glue.Resource
			if all.apply(&r, p); (r.Serving == glue.Closed) != all.barred(parts)[p["PartitionName"]] {
				t.Errorf("%q: %s is %q to a source", assoc, p["PartitionName"], r.Serving)
			}
		}
		// root need be in no group, and jobs of accounts that are not let in wait (22.05, where nothing is enforced, too).
		all.user = "root"
		if got, want := fmt.Sprint(all.barred(parts)), strings.Replace(want, "pgrp:true", "pgrp:false", 1); got != want {
			t.Errorf("%q, root: %s, want %s", assoc, got, want)
		}
	}
}
