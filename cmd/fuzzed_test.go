package cmd_test

import (
	"go/ast"
	"go/token"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"gridbroker/testdata/testbed"
)

// decoders are what texts are taken apart with, by the packages that have them.
var decoders = map[string][]string{
	"encoding/json":                            {"Unmarshal", "NewDecoder"},
	"encoding/json/v2":                         {"Unmarshal", "UnmarshalRead"},
	"encoding/xml":                             {"Unmarshal", "NewDecoder"},
	"encoding/asn1":                            {"Unmarshal"},
	"encoding/csv":                             {"NewReader"},
	"encoding/pem":                             {"Decode"},
	"archive/tar":                              {"NewReader"},
	"compress/gzip":                            {"NewReader"},
	"bufio":                                    {"NewScanner", "NewReader", "NewReaderSize"},
	"crypto/x509":                              {"ParseCertificate", "ParseCertificateRequest", "ParseRevocationList"},
	"golang.org/x/crypto/cryptobyte":           {"String"},
	"github.com/klauspost/compress/gzip":       {"NewReader"},
	"github.com/klauspost/compress/zstd":       {"NewReader"},
	"github.com/pelletier/go-toml/v2":          {"Unmarshal", "NewDecoder"},
	"github.com/pelletier/go-toml/v2/unstable": {"Parser"},
	"github.com/go-json-experiment/json":       {"Unmarshal", "UnmarshalRead"},
	"golang.org/x/crypto/ssh":                  {"ParseKnownHosts", "ParsePublicKey", "ParseAuthorizedKey", "ParsePrivateKey"},
}

// fuzzed are the files that take apart what strangers may have written, by the fuzz test that gives them anything.
var fuzzed = map[string][]string{
	"batch/maui FuzzReadConfig":         {"batch/maui/parse.go"},
	"batch/maui FuzzTrace":              {"batch/maui/trace.go"},
	"batch/swf FuzzReader":              {"batch/swf/reader.go"},
	"cmd/cli FuzzConfig":                {"cmd/cli/toml_known.go", "cmd/cli/toml_places.go"},
	"credential FuzzCRL":                {"credential/crlparse.go"},
	"credential FuzzPEM":                {"credential/cahash.go", "credential/name.go", "credential/pemfile.go", "credential/proxycert.go"},
	"credential FuzzRequest":            {"credential/issue.go"},
	"credential FuzzSigningPolicy":      {"credential/policy.go"},
	"credential FuzzToken":              {"credential/token.go"},
	"credential/voms FuzzAC":            {"credential/voms/ac.go", "credential/voms/acext.go", "credential/voms/name.go"},
	"credential/voms FuzzLSC":           {"credential/voms/lsc.go"},
	"credential/voms FuzzReply":         {"credential/voms/protocol.go"},
	"credential/voms FuzzVomses":        {"credential/voms/vomses.go"},
	"environment FuzzDefinition":        {"environment/definition.go"},
	"environment FuzzManifest":          {"environment/image.go"},
	"environment FuzzSignature":         {"environment/signature.go"},
	"environment FuzzTold":              {"environment/protocol.go", "environment/taker_linux.go"},
	"environment FuzzUnpack":            {"environment/unpack.go"},
	"environment/tags FuzzStore":        {"environment/tags/store.go", "environment/tags/writers.go"},
	"forecast/managers/daemon FuzzLink": {"forecast/managers/daemon/lines.go"},
	"forecast/scheduler FuzzAPI":        {"forecast/scheduler/delegation.go"},
	"forecast/sim FuzzParse":            {"forecast/sim/misfit.go", "forecast/sim/parse.go"},
	"forecast/sim/tree FuzzJobs":        {"forecast/sim/tree/files.go"},
	"forecast/wire FuzzDecodeDelta":     {"forecast/wire/decode.go"},
	"glue FuzzARCInfo":                  {"glue/arcinfo.go"},
	"glue FuzzLDIF":                     {"glue/ldif.go"},
	"infosys FuzzFile":                  {"glue/json.go", "glue/unlimited.go", "infosys/file.go"},
	"jdl/classad FuzzAd":                {"jdl/classad/json.go"},
	"jdl/formats FuzzParseJobs":         {"jdl/adl/read.go"},
	"jobs FuzzDecode":                   {"jobs/codec.go"},
	"plugins/arcrest FuzzDiagnosis":     {"plugins/arcrest/record.go"},
	"plugins/arcrest FuzzLists":         {"plugins/arcrest/stream.go"},
	"plugins/central FuzzAnswer":        {"plugins/central/http.go"},
	"plugins/forecast FuzzParse":        {"plugins/ask/values.go"},
	"plugins/htcondor FuzzAds":          {"plugins/htcondor/status.go"},
	"plugins/monitor FuzzParse":         {"plugins/monitor/ganglia.go", "plugins/monitor/nagios.go", "plugins/monitor/prometheus.go"},
	"plugins/queuelen FuzzParse":        {"plugins/queuelen/answer.go"},
	"plugins/wiki FuzzJournal":          {"plugins/wiki/journal.go"},
	"readahead FuzzIndex":               {"readahead/store.go"},
}

// unfuzzed are the files that need no fuzz test, by the reason.
var unfuzzed = map[string][]string{
	"JSON of few values, counted or bounded before, into fields, by the standard library": {
		"credential/oidc/agent.go", "credential/oidc/login.go", "credential/oidc/session.go", "forecast/agent/link.go", "forecast/agent/serve.go",
		"forecast/managers/daemon/http.go", "forecast/managers/desk/api.go", "forecast/scheduler/issuer.go", "forecast/scheduler/issuer_check.go",
		"forecast/scheduler/login.go", "plugins/htcondor/ticket.go", "plugins/tree/tree.go", "cmd/cli/manager_state.go", "foreign/list.go"},
	"certificates and SSH keys, by the standard library":      {"credential/bundle.go", "plugins/remote/sshauth.go", "forecast/managers/daemon/passport.go", "plugins/arcrest/delegation.go", "cmd/cli/scheduler_doctor.go"},
	"compression, by its libraries, which have their own":     {"environment/layers/layers.go"},
	"an archive that the user packs himself, read to its end": {"environment/layout.go"},
	"state that this program has written, in directories that are the user's own": {
		"batch/fit.go", "batch/maui/memory.go", "batch/memory.go", "batch/predict/memory.go", "batch/predict/tracker.go", "cmd/cli/follow_renew.go", "credential/contacts.go",
		"environment/cache_room.go", "environment/tags/cached.go", "forecast/agent/published.go", "forecast/managers/daemon/keeper.go", "forecast/managers/desk/store.go",
		"forecast/scheduler/bookings.go", "forecast/scheduler/clusters.go", "forecast/scheduler/hinders.go", "forecast/scheduler/history.go", "forecast/scheduler/messages.go",
		"forecast/scheduler/agree.go", "forecast/scheduler/nodes.go", "forecast/scheduler/queue_kept.go", "forecast/scheduler/sites.go", "forecast/sim/journal.go", "forecast/sim/spool.go", "plugins/arcrest/fetchfile.go",
		"plugins/arcrest/live.go", "plugins/central/turned.go", "plugins/history/learn.go", "plugins/local/local.go"},
	"what the user types or pipes, or says in files of settings of his own": {
		"cmd/cli/agent_run.go", "cmd/cli/auth.go", "cmd/cli/choose.go", "cmd/cli/configcmd.go", "cmd/cli/jdl_batch.go", "cmd/cli/query.go", "cmd/cli/selection.go",
		"cmd/cli/sim_sweep.go", "environment/node.go", "environment/registry/keys.go", "forecast/sim/tree/work.go"},
	"what this program's own processes and the kernel say": {
		"environment/enter_linux.go", "environment/guest_linux.go", "environment/init_linux.go", "environment/machine_linux.go", "plugins/local/open.go"},
}

// TestForeignTextIsFuzzed: every file of the program that takes a text apart has a fuzz test, or a reason why it needs none,
// here; no fuzz test and no file is named that is not there.
func TestForeignTextIsFuzzed(t *testing.T) {
	testbed.Computes(t)
	said := map[string]bool{}
	for _, list := range slices.Concat(slices.Collect(maps.Values(fuzzed)), slices.Collect(maps.Values(unfuzzed))) {
		for _, file := range list {
			if said[file] {
				t.Errorf("%s stands here twice", file)
			}
			said[file] = true
		}
	}
	parsed(t, func(dir string, set *token.FileSet, f *ast.File) {
		file := strings.TrimPrefix(set.Position(f.Pos()).Filename, "../")
		if strings.HasPrefix(file, "testdata/") || !takesApart(f) {
			return
		}
		if !said[file] {
			t.Errorf("%s takes a text apart: say which fuzz test gives it anything, or why it needs none", file)
		}
		delete(said, file)
	})
	for file := range said {
		t.Errorf("%s takes no text apart, or is not there", file)
	}
	tests := declaredTests(t, os.DirFS(".."))
	for name := range fuzzed {
		dir, fn, _ := strings.Cut(name, " ")
		if !slices.Contains(tests[fn], dir) {
			t.Errorf("there is no %s in %s", fn, dir)
		}
	}
}

// takesApart tells whether a file uses a decoder.
func takesApart(f *ast.File) (found bool) {
	as := map[string][]string{} // names of the packages in this file
	for _, spec := range f.Imports {
		from := strings.Trim(spec.Path.Value, `"`)
		name := path.Base(strings.TrimSuffix(from, "/v2"))
		if name == "go-toml" {
			name = "toml"
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		as[name] = slices.Concat(as[name], decoders[from])
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			x, ok := s.X.(*ast.Ident)
			found = found || ok && slices.Contains(as[x.Name], s.Sel.Name)
		}
		return !found
	})
	return found
}
