package environment

import "fmt"

// An ociSpec is the part of config.json (OCI runtime specification 1.0) that launches need.
type ociSpec struct {
	Version  string     `json:"ociVersion"`
	Process  ociProcess `json:"process"`
	Root     ociRoot    `json:"root"`
	Hostname string     `json:"hostname"`
	Mounts   []ociMount `json:"mounts"`
	Linux    ociLinux   `json:"linux"`
}

type ociProcess struct {
	Terminal bool `json:"terminal"`
	User     struct {
		UID int `json:"uid"`
		GID int `json:"gid"`
	} `json:"user"`
	Args            []string            `json:"args"`
	Env             []string            `json:"env"`
	Cwd             string              `json:"cwd"`
	Capabilities    map[string][]string `json:"capabilities"`
	NoNewPrivileges bool                `json:"noNewPrivileges"`
}

type ociRoot struct {
	Path     string `json:"path"`
	ReadOnly bool   `json:"readonly"`
}

type ociMount struct {
	Destination string   `json:"destination"`
	Type        string   `json:"type"`
	Source      string   `json:"source"`
	Options     []string `json:"options"`
}

type ociLinux struct {
	Namespaces []ociNamespace `json:"namespaces"`
	UIDs       []ociIDs       `json:"uidMappings"`
	GIDs       []ociIDs       `json:"gidMappings"`
}

type ociNamespace struct {
	Type string `json:"type"`
}

type ociIDs struct {
	Container int `json:"containerID"`
	Host      int `json:"hostID"`
	Size      int `json:"size"`
}

// newSpec is what an OCI runtime makes before our program takes over: namespaces, the tree, /proc, the node's /dev and
// the sandbox.
func newSpec(job *Job, uid, gid int) *ociSpec {
	s := &ociSpec{Version: "1.0.0", Root: ociRoot{job.Tree, true}, Hostname: hostname(job.Definition)}
	s.Process.User.UID, s.Process.User.GID = uid, gid
	s.Process.Args = []string{fmt.Sprintf("/proc/self/fd/%d", firstFile), "init"}
	s.Process.Env = []string{"GOMAXPROCS=1", "GOGC=off"}
	s.Process.Cwd, s.Process.NoNewPrivileges = "/", true
	s.Process.Capabilities = map[string][]string{}
	for _, set := range []string{"bounding", "effective", "permitted", "inheritable", "ambient"} { // until the mounts are made
		s.Process.Capabilities[set] = []string{"CAP_SYS_ADMIN", "CAP_SETPCAP", "CAP_SETFCAP"}
	}
	s.Mounts = []ociMount{{"/proc", "proc", "proc", []string{"nosuid", "nodev", "noexec"}}, {"/dev", "bind", "/dev", []string{"rbind"}}}
	s.bind(job.Sandbox.Dir, SandboxTarget, "rw")
	for _, kind := range []string{"user", "mount", "pid", "ipc", "uts", "cgroup", "network"} {
		if kind != "network" || !job.Definition.Network {
			s.Linux.Namespaces = append(s.Linux.Namespaces, ociNamespace{kind})
		}
	}
	s.Linux.UIDs, s.Linux.GIDs = []ociIDs{{uid, uid, 1}}, []ociIDs{{gid, gid, 1}}
	return s
}

// asRoot makes the user that starts the runtime user 0 inside.
func (s *ociSpec) asRoot() {
	s.Process.User.UID, s.Process.User.GID = 0, 0
	s.Linux.UIDs[0].Container, s.Linux.GIDs[0].Container = 0, 0
}

func (s *ociSpec) bind(source, target, how string) {
	s.Mounts = append(s.Mounts, ociMount{target, "bind", source, []string{"rbind", "nosuid", "nodev", how}})
}
