package tags

import (
	"fmt"
	"strings"

	"gridbroker/environment"
)

// SlurmFeatures is the command that makes tags the features of nodes, which jobs ask for by --constraint. Slurm takes
// both lists whole, so that other holds the features that the nodes have besides. '/' and '+' cannot be in a feature
// that is asked for: such tags are an error.
func SlurmFeatures(nodes string, other []string, list []Tag) ([]string, error) {
	if nodes == "" || strings.ContainsAny(nodes, " \t\n=") {
		return nil, fmt.Errorf("nodes %q: name them as Slurm does, such as n[1-4]", nodes)
	}
	features := append([]string(nil), other...)
	for _, t := range usable(list) {
		features = append(features, t.Name)
	}
	for _, f := range features {
		if environment.CheckTag(f) != nil || strings.ContainsAny(f, "/+") {
			return nil, &environment.TagError{Tag: f, Why: "cannot be a feature of Slurm's: letters, digits, - . _ are allowed"}
		}
	}
	all := strings.Join(features, ",")
	return []string{"scontrol", "update", "NodeName=" + nodes, "AvailableFeatures=" + all, "ActiveFeatures=" + all}, nil
}

// Launch is where grid-launch and its settings lie on a site's nodes.
type Launch struct {
	Program string // absolute path of grid-launch
	Node    string // absolute path of the node's settings
}

// RTE is the script of an ARC runtime environment that makes the job run inside: `arcctl rte enable TAG` after it was
// written to the runtime directory under the tag's name. In stage 0 it puts grid-launch before the command line that
// A-REX has quoted already, and names the variables that the job's description sets. Options that a job gives ($2 and on) are not looked at: nothing of theirs reaches a shell.
// The tag of images that jobs bring has one option, the image, of letters, digits and . _ : / @ - alone.
func RTE(t Tag, l Launch) (string, error) {
	for _, p := range []string{l.Program, l.Node} {
		if !plainPath(p) {
			return "", fmt.Errorf("%q: want an absolute path of letters, digits, / . _ -", p)
		}
	}
	if err := environment.CheckTag(t.Name); err != nil {
		return "", err
	}
	image, option := "", ""
	if environment.SameTag(t.Name, environment.UserImageTag) {
		image, option = givenImage, " --image $grid_image"
	}
	return fmt.Sprintf(`# description: %s
# Written by grid tags publish; a change is lost at the next one.
if [ "x$1" = "x0" ]; then
    grid_env= grid_n=0
    while eval "grid_v=\${joboption_env_$grid_n-}"; [ -n "$grid_v" ]; do
        grid_name=${grid_v%%%%=*} grid_n=$((grid_n + 1))
        case $grid_name in '' | [0-9]* | *[!A-Za-z0-9_]*) ;; *) grid_env="$grid_env --env $grid_name" ;; esac
    done
%s    joboption_args="%s run --node %s --sandbox \"\${RUNTIME_JOB_DIR}\"$grid_env%s %s -- $joboption_args"
%sfi
true
`, oneLine(t.Description, t.Name), image, l.Program, l.Node, option, t.Name, accounting(t.Digest)), nil
}

// givenImage takes the image that a job brings from its first option, if it is made of what images' names are made of:
// the command line is read by a shell again. A-REX gives options to this stage with quotes around them.
const givenImage = `    grid_image=${2#\"}
    grid_image=${grid_image%\"}
    case $grid_image in '' | *[!A-Za-z0-9._:/@-]*) grid_image=none ;; esac
`

// accounting names the image in the usage record.
func accounting(digest string) string {
	if hex, ok := strings.CutPrefix(digest, "sha256:"); !ok || strings.Trim(hex, "0123456789abcdef") != "" {
		return ""
	}
	return fmt.Sprintf("    export ACCOUNTING_WN_INSTANCE=%s\n", Quote(digest))
}

func plainPath(p string) bool {
	for i := 0; i < len(p); i++ {
		c := p[i]
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && strings.IndexByte("/._-", c) < 0 {
			return false
		}
	}
	return strings.HasPrefix(p, "/")
}

// oneLine keeps a text within its comment.
func oneLine(text, or string) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }), " ")
	if text == "" {
		return or
	}
	return text
}
