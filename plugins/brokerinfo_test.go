package plugins_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gridbroker/glue"
	"gridbroker/jdl"
	"gridbroker/jdl/classad"
	"gridbroker/plugins"
)

func jobOf(t *testing.T, dir, text string) *jdl.Job {
	t.Helper()
	set, err := jdl.ParseJobs("t.jdl", []byte(text), jdl.WithDir(dir))
	if err != nil {
		t.Fatal(err)
	}
	return set.Jobs[0]
}

// What a job asks of the file, by the paths glite-brokerinfo takes.
func TestBrokerInfo(t *testing.T) {
	job := jobOf(t, "/", `Executable = "/bin/ls"; InputData = {"lfn:/grid/a\"b", "guid:c"}; DataAccessProtocol = {"gsiftp", "https"}; VirtualOrganisation = "biomed";`)
	text := plugins.BrokerInfo(job, &glue.Resource{ID: "ce.example:2119/jobmanager-pbs-long#biomed", CloseSEs: []glue.StorageBinding{
		{SE: "se1.example", Mount: "/data"},
		{SE: "se2.example", Attrs: map[string][]string{"GlueSAStateAvailableSpace": {"1200"}}},
	}})
	ad, err := classad.ParseAd("BrokerInfo", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for expr, want := range map[string]string{
		`ComputingElement.name`:                              `"ce.example:2119/jobmanager-pbs-long"`,
		`ComputingElement.CloseStorageElements[0].name`:      `"se1.example"`,
		`ComputingElement.CloseStorageElements[0].mount`:     `"/data"`,
		`ComputingElement.CloseStorageElements[1].freespace`: `"1200"`,
		`size(InputFNs)`:        `2`,
		`InputFNs[0].name`:      `"lfn:/grid/a\"b"`,
		`InputFNs[1].SFNs`:      `{  }`,
		`StorageElements`:       `{  }`,
		`DataAccessProtocol[1]`: `"https"`,
		`VirtualOrganisation`:   `"biomed"`,
	} {
		e, err := classad.ParseExpr("expr", []byte(expr))
		if err != nil {
			t.Fatal(err)
		}
		if got := classad.UnparseValue(ad.Eval(e, nil)); got != want {
			t.Errorf("%s is %s, want %s", expr, got, want)
		}
	}
	if first := strings.Split(text, "\n")[1]; !strings.Contains(first, `name = "ce.example:2119/`) {
		t.Errorf("scripts look for name = \"CE:2119/ in the first line that has a name: %s", first)
	}
}

func TestBrokerInfoReaders(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"reads.sh": "#!/bin/sh\nglite-brokerinfo getCE\n", "other.sh": "#!/bin/sh\nls\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for text, want := range map[string]bool{
		`Executable = "/bin/ls";`:                                                                         false,
		`Executable = "/bin/cat"; Arguments = ".BrokerInfo";`:                                             true,
		`Executable = "/bin/cat"; StdOutput = "o"; OutputSandbox = {"o", ".BrokerInfo"};`:                 true,
		`Executable = "/bin/sh"; Arguments = "-c 'cat $GLITE_WMS_RB_BROKERINFO'";`:                        true,
		`Executable = "reads.sh"; InputSandbox = "reads.sh";`:                                             true,
		`Executable = "other.sh"; InputSandbox = "other.sh";`:                                             false,
		`Executable = "/bin/ls"; InputData = "lfn:/a"; DataAccessProtocol = "gsiftp";`:                    true,
		`Executable = "/bin/cat"; Arguments = ".BrokerInfo"; Site = "LCG.CERN.ch"; InputData = "lfn:/a";`: false,
	} {
		var s plugins.BrokerInfoReaders
		job := jobOf(t, dir, text)
		if got := s.Wants(job); got != want || s.Wants(job) != want {
			t.Errorf("%s: wants it: %t, want %t", text, got, want)
		}
	}
}

// The file and its variables are added to the job that is sent; the user's own stay.
func TestWithBrokerInfo(t *testing.T) {
	job := jobOf(t, "/", `Executable = "/bin/ls"; Environment = {"EDG_WL_RB_BROKERINFO=/mine"};`)
	with := plugins.WithBrokerInfo(job, "[ ]")
	if len(job.InputSandbox) != 0 || len(job.Environment) != 1 {
		t.Error("the job itself was changed")
	}
	if len(with.Environment) != 2 || with.Environment[0].Value != "/mine" || !plugins.IsBrokerInfoVariable(with.Environment[1]) {
		t.Errorf("environment %v", with.Environment)
	}
	in, size, err := with.InputSandbox[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if text, err := io.ReadAll(in); string(text) != "[ ]" || size != 3 || err != nil {
		t.Errorf("it holds %q of %d bytes, %v", text, size, err)
	}
	if again := plugins.WithBrokerInfo(with, "other"); len(again.InputSandbox) != 1 || again.InputSandbox[0].Text != "[ ]" {
		t.Error("a file that the job has was replaced")
	}
}
