package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"gridbroker/environment"
	"gridbroker/jdl"
)

// inside is an environment that a job's programs run in.
type inside struct {
	Launcher string `json:"launcher"` // path of grid-launch
	Node     string `json:"node"`     // file of the node's settings
	Tag      string `json:"tag"`
	Image    string `json:"image,omitempty"` // that the job brings
}

// findLauncher finds grid-launch: beside this program, else in PATH; "" where there is none.
func findLauncher(exe string) string {
	beside := filepath.Join(filepath.Dir(exe), "grid-launch")
	if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
		return beside
	}
	if found, err := exec.LookPath("grid-launch"); err == nil && filepath.IsAbs(found) {
		return found
	}
	return ""
}

// openEnvironments reads the settings of the site's environments.
func (s *site) openEnvironments(opts Options) (err error) {
	switch {
	case s.Environments == "":
		return nil
	case !filepath.IsAbs(s.Environments):
		return fmt.Errorf("environments %q: want an absolute path", s.Environments)
	case opts.Launcher == "":
		return errors.New("environments need the program grid-launch beside grid or in PATH")
	}
	s.launcher = opts.Launcher
	if strings.HasSuffix(s.Environments, ".json") {
		s.node, err = environment.ReadNode(s.Environments)
		return err
	}
	s.node = &environment.Node{Definitions: s.Environments, Cache: opts.EnvironmentCache}
	return nil
}

// nodeFile is where grid-launch reads the node's settings.
func (s *site) nodeFile() string {
	if strings.HasSuffix(s.Environments, ".json") {
		return s.Environments
	}
	return filepath.Join(s.dir, "node.json")
}

// writeNode writes the settings of a site whose configuration names a folder alone: no mounts, devices, network.
func writeNode(s *site) error {
	if s.node == nil || s.nodeFile() == s.Environments {
		return nil
	}
	return writeJSON(s.nodeFile(), s.node)
}

// tags are the site's own, those of its environments, and the soft ones of what is cached. The error tells of
// definitions that are left out.
func tags(s *site) ([]string, error) {
	if s.node == nil {
		return s.Tags, nil
	}
	catalog, err := s.node.Catalog()
	if err != nil {
		return s.Tags, err
	}
	tags := slices.Clone(s.Tags)
	for _, d := range catalog.All() {
		if s.node.Allow(d) != nil {
			continue
		}
		tags = append(tags, d.Tag)
		if s.node.Store().Cached(d.Digest) {
			tags = append(tags, d.Tag+environment.CachedSuffix)
		}
	}
	if s.node.Policy.TakesImages() {
		tags = append(tags, environment.UserImageTag)
	}
	return tags, catalog.Broken()
}

// environmentOf is the environment that a job asks for; nil where it asks for none, or for tags that the site has
// without a definition.
func environmentOf(s *site, job *jdl.Job) (*inside, error) {
	if s.node == nil || len(job.Demand.RuntimeEnvironments) == 0 {
		return nil, nil
	}
	found, err := s.node.Among(job.Demand.RuntimeEnvironments)
	image := job.UserImage()
	if err == nil && found == nil && image != "" {
		found, err = s.node.UserImage(image)
	}
	if err != nil || found == nil {
		return nil, err
	}
	return &inside{s.launcher, s.nodeFile(), found.Tag, image}, nil
}

// givenPrefix begins the variables of a job on their way through the launcher, which must not take them for its own:
// by PATH or LD_PRELOAD a job would run outside.
const givenPrefix = "GRID_GIVEN_"

// prepared is one program, on the machine or in the job's environment.
func (sv *supervisor) prepared(st step) (*exec.Cmd, error) {
	if sv.spec.Inside == nil {
		return sv.command(st)
	}
	work := filepath.Join(sv.dir, "work")
	path := st.Path
	if !filepath.IsAbs(path) {
		if !filepath.IsLocal(path) {
			return nil, fmt.Errorf("%s %s leaves the job's directory", st.Role, path)
		}
		if exists(filepath.Join(work, path)) {
			path = filepath.Join(environment.SandboxTarget, path)
		}
	}
	args := []string{"grid-launch", "run", "--node", sv.spec.Inside.Node, "--sandbox", work,
		"--report", sv.report(), "--env-prefix", givenPrefix}
	if image := sv.spec.Inside.Image; image != "" {
		args = append(args, "--image", image)
	}
	args = append(append(args, sv.spec.Inside.Tag, "--", path), st.Args...)
	cmd := &exec.Cmd{Path: sv.spec.Inside.Launcher, Args: args, Dir: work}
	if err := os.Remove(sv.report()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	cmd.Env = []string{"PATH=" + strings.Join(searchPath, ":"), "GOMAXPROCS=1", givenPrefix + "GRID_JOB_ID=" + sv.spec.ID}
	for _, e := range sv.spec.Env {
		cmd.Env = append(cmd.Env, givenPrefix+e)
	}
	cmd.Env = append(cmd.Env, jobTag(sv.spec.ID))
	cmd.SysProcAttr = ownSession()
	return cmd, nil
}

// report is the file in which grid-launch says that a program never ran. The job does not see it.
func (sv *supervisor) report() string { return filepath.Join(sv.dir, "launch") }

// notRun tells from the report of grid-launch whether a program never ran: the job may use any exit code itself.
func (sv *supervisor) notRun(st step) error {
	if sv.spec.Inside == nil {
		return nil
	}
	text, err := os.ReadFile(sv.report())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	word, why, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	switch {
	case err != nil:
		return err
	case word == "start":
		return &startError{st, fmt.Errorf("environment %s: %s", sv.spec.Inside.Tag, why)}
	}
	return fmt.Errorf("environment %s could not be made here: %s", sv.spec.Inside.Tag, why)
}
