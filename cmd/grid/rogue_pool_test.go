package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gridbroker/testdata/testbed"
)

// TestTokenSaidBackByAPool: a pool over the network that says back the token which HTCondor's commands showed to it, in ads and in
// complaints and with letters written as numbers, does not get it onto a screen nor into a document.
func TestTokenSaidBackByAPool(t *testing.T) {
	t.Parallel()
	issuer, err := testbed.OpenIssuer(t.TempDir(), "https://issuer.example.org/")
	if err != nil {
		t.Fatal(err)
	}
	const pool = "127.0.0.1:19618"
	token, err := issuer.Token("alice", time.Hour, map[string]any{"aud": "condor://" + pool, "scope": "compute.read compute.create compute.modify compute.cancel"})
	if err != nil {
		t.Fatal(err)
	}
	signature := token[strings.LastIndex(token, ".")+1:]
	bin := t.TempDir()
	v := newVictim(t, "BEARER_TOKEN="+token)
	v.env = append(v.env, "PATH="+bin+":"+os.Getenv("PATH"))
	script := func(name, text string) {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n[ -z \"$BEARER_TOKEN\" ] || echo shown >>"+v.dir+"/shown\n"+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	const ads = `case "$*" in *-af*) echo schedd ;; *schedd*) echo '[{"Name":"s","TotalIdleJobs":0}]' ;;
*) echo '[{"Name":"slot1@h","State":"Unclaimed","OpSys":"'$T'","OpSysAndVer":"'$T'","Arch":"X86_64","Cpus":8,"Memory":8000,"Disk":9000000,"PartitionableSlot":true,"TotalSlotCpus":8,"TotalSlotMemory":8000,"TotalSlotDisk":9000000}]' ;; esac`
	script("condor_q", "exit 0")
	script("condor_history", "exit 0")
	script("condor_ping", "echo Remote Mapping: me@here")
	for about, status := range map[string]string{
		"ads":                 `T="$BEARER_TOKEN";` + ads,
		"letters as numbers":  `T=$(printf %s "$BEARER_TOKEN" | sed 's/e/\\u0065/g');` + ads,
		"complaints":          `echo "DENIED $BEARER_TOKEN" >&2; exit 1`,
		"the name of a queue": `echo "$BEARER_TOKEN"`,
	} {
		script("condor_status", status)
		for _, args := range [][]string{{"resources"}, {"resources", "--json"}, {"resources", "-vvv"}} {
			h := v.grid(0, append(args, "--no-cache", "--info", "condor://"+pool)...)
			if text := h.out + h.errs; strings.Contains(text, signature) || !strings.Contains(text, pool) {
				t.Errorf("%s: grid %s: %.2000s", about, strings.Join(args, " "), text)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(v.dir, "shown")); err != nil {
		t.Errorf("no token was shown: %v", err)
	}
}
