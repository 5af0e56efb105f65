package slurm

import (
	"fmt"
	"testing"
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
		if got := fmt.Sprint(barred(parts, []string{"nogroup"}, parseRules(assoc, "normal||||\nhigh||||\n"))); got != want {
			t.Errorf("%q: %s, want %s", assoc, got, want)
		}
	}
}
