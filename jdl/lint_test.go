package jdl

import (
	"fmt"
	"strings"
	"testing"
)

// TestLint gives for each Requirements (or whole text, when it has a ";") the
// codes of what is said, with the text under the first caret.
func TestLint(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{`other.GlueCEPolicyMaxWallClockTime >= 720`, ``},
		{`other.GlueCEPolicyMaxWallClockTime >= 24*60`, ``},
		{`other.GlueCEPolicyMaxWallClockTime >= 1440*60`, `unit: GlueCEPolicyMaxWallClockTime counts minutes: 86400 are 60 days (86400 seconds are 1440 minutes)`},
		{`other.GlueHostMainMemoryRAMSize >= 2*1024*1024*1024`, `unit: GlueHostMainMemoryRAMSize counts MB: 2147483648 are 2048 TB (2147483648 kB are 2097152 MB)`},
		{`other.GlueCEPolicyMaxWallClockTime >= 86400`, `unit: GlueCEPolicyMaxWallClockTime counts minutes: 86400 are 60 days (86400 seconds are 1440 minutes)`},
		{`other.GLUE2ComputingShareMaxWallTime >= 720`, `unit: GLUE2ComputingShareMaxWallTime counts seconds: 720 are few (720 minutes are 43200 seconds)`},
		{`other.GlueHostMainMemoryRAMSize >= 16`, `unit: GlueHostMainMemoryRAMSize counts MB: 16 are few (16 GB are 16384 MB)`},
		{`other.GlueHostMainMemoryRAMSize >= 4G`, `unit: GlueHostMainMemoryRAMSize counts MB, and 4G is 4294967296 (write the number without a suffix)`},
		{`other.GlueCEStateStatuss == "Production"`, `unknown-glue-name: no schema has an attribute GlueCEStateStatuss (did you mean other.GlueCEStateStatus?)`},
		{`other.FreeCPUs > 5`, `unknown-glue-name: no schema has an attribute FreeCPUs (did you mean other.GlueCEStateFreeCPUs?)`},
		{`GlueCEStateStatus == "Production"`, `other-missing: GlueCEStateStatus is an attribute of the resource, not of the job (write other.GlueCEStateStatus) | always-undefined: this clause is always UNDEFINED (no resource can match)`},
		{`other.GlueCEStateStatus == Production`, `unquoted-word: Production is no attribute of the job: UNDEFINED (write "Production" for a text, other.Production for what the resource publishes)`},
		{`other.GlueCEStateStatus =?= "Production"`, `case: is tells Production from production, and both are published (write ==)`},
		{`other.GlueCEInfoTotalCPUs >= "4"`, `always-error: GlueCEInfoTotalCPUs is a number: comparing it with a string is always ERROR (remove the quotes: 4)`},
		{`other.GlueHostOperatingSystemRelease >= 5.8`, `always-error: GlueHostOperatingSystemRelease is a string: comparing it with the number 5.8 is always ERROR`},
		{`other.GlueHostApplicationSoftwareRunTimeEnvironment == "MPICH"`, `list-compared: GlueHostApplicationSoftwareRunTimeEnvironment is a list: comparing it with == is always ERROR (write Member("...", other.GlueHostApplicationSoftwareRunTimeEnvironment))`},
		{`Member(other.GlueHostApplicationSoftwareRunTimeEnvironment, "MPICH")`, `swapped: Member looks for a list in a text: always ERROR (the list is the second argument)`},
		{`Member("x", other.GlueCEUniqueID)`, `no-list: GlueCEUniqueID is no list: Member is always ERROR (compare it with ==)`},
		{`isMember("x", other.GlueHostApplicationSoftwareRunTimeEnvironment)`, `is-member: isMember is not a function and is read as Member (write Member)`},
		{`RegExp("ce*.cern.ch", other.GlueCEUniqueID)`, `glob: "ce*.cern.ch": in a regular expression * repeats the character before it (write .* for any text)`},
		{`RegExp("*cern.ch", other.GlueCEUniqueID)`, `bad-pattern`},
		{`RegExp("ce\d+", other.GlueCEUniqueID)`, `lost-backslash`},
		{`RegExp(".*cern", other.GlueCEAccessControlBaseRule)`, `list-compared: GlueCEAccessControlBaseRule is a list: regexp is always ERROR`},
		{`other.GlueCEStateFreeCPUs == undefined`, `always-undefined: comparing with undefined is always UNDEFINED (write isUndefined(other.GlueCEStateFreeCPUs))`},
		{`false`, `always-false: this clause is always false (no resource can match)`},
		{`other.GlueCEStateFreeCPUs > 2 && 1`, `not-boolean: this clause is the number 1, not a boolean (no resource can match)`},
		{`other.GlueCEStateFreeCPUs > 2 && other.GlueCEStateFreeCPUs < 2`, `always-false: this clause excludes another one: GlueCEStateFreeCPUs cannot be above 2 and below 2 (no resource can match)`},
		{`other.GlueCEInfoLRMSType == "pbs" && other.GlueCEInfoLRMSType == "lsf"`, `always-false: this clause excludes another one: GlueCEInfoLRMSType cannot be both "pbs" and "lsf" (no resource can match)`},
		{`random(1.0) < 0.5`, ``},
		{`fqanMember(strcat("VOMS:", "/x"), {"VOMS:/x"}) is true`, ``},
		{`Executable = "/bin/ls"; Exectuable = "x";`, `unknown-attribute: Exectuable is not a known attribute (did you mean Executable?)`},
		{`Executable = "/bin/ls"; cavolo = 1;`, `unknown-attribute: cavolo is not a known attribute (nothing in this file uses it)`},
		{`Executable = "/bin/ls"; n = 4; CPUNumber = n;`, ``},
		{`Executable = "/bin/ls"; Arguments = "$HOME/x";`, `no-shell: Arguments: $HOME/x reaches the program as it is; no shell replaces it`},
		{`Executable = "/bin/sh"; Arguments = "-c 'ls $HOME'";`, ``},
		{`Executable = "/bin/ls"; WallTime = 2;`, `unit: WallTime counts seconds: 2 are very few (write "2 min" or "2 h")`},
		{`Executable = "/bin/ls"; LBAddress = "h";`, `no-effect: LBAddress is known, and has no effect here`},
		{`Executable = "/bin/ls"; Rank = GlueCEStateFreeCPUs;`, `other-missing: GlueCEStateFreeCPUs is an attribute of the resource, not of the job (write other.GlueCEStateFreeCPUs) | always-undefined: Rank is always UNDEFINED (no resource can match)`},
		{`Arguments = "x"; RetryCount = "3";`, `missing: the job has no Executable | type: RetryCount must be an integer`},
		{`Executable = "/bin/ls"; ours = enough && other.GlueCEStateFreeCPU > 2; enough = other.GlueCEPolicyMaxCPUTime > 60; Requirements = ours && !enough;`,
			`unknown-glue-name: no schema has an attribute GlueCEStateFreeCPU (did you mean other.GlueCEStateFreeCPUs?)`},
		{`Executable = "/bin/ls"; a = b; b = a; Requirements = a;`, `always-undefined: this clause is always UNDEFINED (no resource can match)`},
		{`WMProxyEndPoints = {"https://wms:7443/w"}; jdlDefaultAttributes = [ Rank = 1; ];`,
			`other-file: WMProxyEndPoints: these are settings of gLite's client, and no job (name it in no command: sources and vo in grid.toml say the same) | unknown-attribute: WMProxyEndPoints is not a known attribute (nothing in this file uses it) | unknown-attribute: jdlDefaultAttributes is not a known attribute (nothing in this file uses it)`},
		{`Executable = `, `syntax`},
	} {
		src := c.src
		if !strings.Contains(src, ";") && !strings.HasPrefix(src, "Exec") {
			src = `Executable = "/bin/ls"; Requirements = ` + src + ";"
		}
		var got []string
		for _, d := range Lint("t.jdl", []byte(src)) {
			text := d.Code + ": " + d.Msg
			if d.Hint != "" {
				text += " (" + d.Hint + ")"
			}
			got = append(got, text)
		}
		want := strings.Split(c.want, " | ")
		ok := c.want == "" && len(got) == 0 || c.want != "" && len(got) == len(want)
		for i := range got {
			ok = ok && strings.HasPrefix(got[i], want[i])
		}
		if !ok {
			t.Errorf("%s\n got %s\nwant %s", c.src, strings.Join(got, " | "), c.want)
		}
	}
}

func ExampleLint() {
	text := `Executable   = "/bin/hostname";
Requirements = other.GlueCEPolicyMaxWallClockTime >= 86400;`
	for _, d := range Lint("job.jdl", []byte(text)) {
		fmt.Println(d)
	}
	// Output:
	// job.jdl:2:54: GlueCEPolicyMaxWallClockTime counts minutes: 86400 are 60 days (86400 seconds are 1440 minutes)
	//  | Requirements = other.GlueCEPolicyMaxWallClockTime >= 86400;
	//  | .....................................................^
}
