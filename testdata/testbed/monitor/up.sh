#!/bin/bash
# up.sh - real monitoring systems on loopback for the tests: Nagios 4 with its
# JSON CGI, Ganglia (gmond and gmetad), Prometheus. Everything runs as the
# caller. They watch hosts that do not exist:
#
#   ce1.grid.test  well everywhere
#   ce2.grid.test  down in Nagios, silent in Ganglia, down in Prometheus
#   ce3.grid.test  a critical and a warning service in Nagios
#   ce4.grid.test  in a downtime in Nagios
#
#   testdata/testbed/monitor/up.sh
#   . ${GRID_TESTBED_DIR:-/tmp/grid-testbed}/monitor/env
#
# As root it installs what is missing from Debian's packages. Idempotent: when
# all are up already, it says so and ends. down.sh stops them. Ports on
# 127.0.0.1: gmond 17831, Prometheus 17834; gmetad's 17832 and 17833 cannot be
# bound to an address, but serve this machine only. The CGI needs no web
# server: the tests run it themselves.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=${GRID_TESTBED_DIR:-/tmp/grid-testbed}
st=$top/monitor
me=$(id -un)
export PATH=$PATH:/usr/sbin
plugins=/usr/lib/nagios/plugins cgi=/usr/lib/cgi-bin/nagios4/statusjson.cgi
missing=
for cmd in nagios4 gmond gmetad gmetric prometheus "$cgi" "$plugins/check_dummy"; do
  command -v "$cmd" >/dev/null || missing="$missing $cmd"
done
if [ -n "$missing" ]; then
  [ "$me" = root ] || { echo "not installed:$missing; run as root to install Debian's packages" >&2; exit 3; }
  made=
  [ -e /usr/sbin/policy-rc.d ] || { made=1; printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d; chmod 755 /usr/sbin/policy-rc.d; }
  export DEBIAN_FRONTEND=noninteractive
  apt-get -o DPkg::Lock::Timeout=600 update -qq
  apt-get -o DPkg::Lock::Timeout=600 install -y -qq --no-install-recommends \
    nagios4-core nagios4-cgi monitoring-plugins-basic ganglia-monitor gmetad prometheus >/dev/null
  [ -z "$made" ] || rm -f /usr/sbin/policy-rc.d
fi
if [ -e "$st/env" ] && [ "$("$here/down.sh" --count)" = 4 ]; then
  echo "already up: . $st/env"; exit 0
fi
"$here/down.sh" >/dev/null
rm -rf "$st"
mkdir -p "$st"/{run,log,rrd,prometheus,nagios/{results,rw}}
chmod 755 "$top" "$st"

# Nagios: an interval of one second, hard states at once.
cat >"$st/nagios/nagios.cfg" <<C
cfg_file=$st/nagios/objects.cfg
log_file=$st/log/nagios.log
lock_file=$st/run/nagios.pid
status_file=$st/nagios/status.dat
object_cache_file=$st/nagios/objects.cache
state_retention_file=$st/nagios/retention.dat
check_result_path=$st/nagios/results
command_file=$st/nagios/rw/nagios.cmd
query_socket=$st/nagios/rw/nagios.qh
temp_path=$st/nagios
temp_file=$st/nagios/nagios.tmp
nagios_user=$me
nagios_group=$(id -gn)
check_external_commands=1
status_update_interval=1
interval_length=1
use_syslog=0
enable_notifications=0
check_for_updates=0
C
{
  host() { printf 'define host {\n host_name %s\n address 127.0.0.1\n check_command dummy!%s\n check_interval 5\n max_check_attempts 1\n check_period always\n initial_state o\n}\n' "$1" "$2"; }
  service() { printf 'define service {\n host_name %s\n service_description %s\n check_command dummy!%s\n check_interval 5\n max_check_attempts 1\n check_period always\n}\n' "$1" "$2" "$3"; }
  printf 'define timeperiod {\n timeperiod_name always\n alias always\n %s\n}\n' "$(for d in sunday monday tuesday wednesday thursday friday saturday; do printf '%s 00:00-24:00\n ' $d; done)"
  printf 'define command {\n command_name dummy\n command_line %s/check_dummy $ARG1$\n}\n' "$plugins"
  printf 'define contact {\n contact_name nobody\n host_notifications_enabled 0\n service_notifications_enabled 0\n host_notification_period always\n service_notification_period always\n host_notification_commands dummy\n service_notification_commands dummy\n}\n'
  host ce1.grid.test '0 "all is well"'; host ce2.grid.test '2 "no answer"'; host ce3.grid.test 0; host ce4.grid.test 0
  service ce1.grid.test submit '0 "job submitted"'
  service ce3.grid.test submit '2 "job submission failed"'
  service ce3.grid.test disk '1 "85 percent"'
  service ce4.grid.test submit 0
} >"$st/nagios/objects.cfg"
printf 'main_config_file=%s\nuse_authentication=0\nuse_ssl_authentication=0\n' "$st/nagios/nagios.cfg" >"$st/nagios/cgi.cfg"
nagios4 -d "$st/nagios/nagios.cfg" >"$st/log/nagios.out" 2>&1

# Ganglia: gmond speaks for ce1 every second; of ce2 there was one heartbeat.
modules=$(dirname "$(ls /usr/lib/*/ganglia/modcpu.so | head -1)")
cat >"$st/gmond.conf" <<C
globals { daemonize = yes  setuid = no  user = $me  debug_level = 0  max_udp_msg_len = 1472
  mute = no  deaf = no  host_dmax = 0  cleanup_threshold = 300  gexec = no  send_metadata_interval = 5
  override_hostname = ce1.grid.test  override_ip = 127.0.0.1 }
cluster { name = "grid" }
udp_send_channel { host = 127.0.0.1  port = 17831 }
udp_recv_channel { bind = 127.0.0.1  port = 17831 }
tcp_accept_channel { bind = 127.0.0.1  port = 17831 }
modules { module { name = "core_metrics" } module { name = "cpu_module"  path = "$modules/modcpu.so" } module { name = "load_module"  path = "$modules/modload.so" } }
collection_group { collect_once = yes  time_threshold = 5  metric { name = "cpu_num" } }
collection_group { collect_every = 1  time_threshold = 1  metric { name = "load_one" } }
collection_group { collect_every = 1  time_threshold = 1  metric { name = "heartbeat" } }
C
gmond -c "$st/gmond.conf" -p "$st/run/gmond.pid" >"$st/log/gmond.log" 2>&1
cat >"$st/gmetad.conf" <<C
data_source "grid" 2 127.0.0.1:17831
gridname "test"
setuid off
rrd_rootdir "$st/rrd"
xml_port 17832
interactive_port 17833
trusted_hosts 127.0.0.1
case_sensitive_hostnames 0
C
setsid gmetad -c "$st/gmetad.conf" -d 1 >"$st/log/gmetad.log" 2>&1 </dev/null & echo $! >"$st/run/gmetad.pid"

# Prometheus: itself as ce1, a port where nobody listens as ce2.
cat >"$st/prometheus.yml" <<C
global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}
rule_files: [$st/rules.yml]
scrape_configs:
  - job_name: ce
    static_configs:
      - {targets: ['127.0.0.1:17834'], labels: {ce: ce1.grid.test}}
      - {targets: ['127.0.0.1:9'], labels: {ce: ce2.grid.test}}
C
cat >"$st/rules.yml" <<'C'
groups:
  - name: ce
    rules:
      - {alert: CEDown, expr: up == 0, labels: {severity: critical}}
      - {alert: Watched, expr: up == 1, labels: {severity: info}}
C
setsid prometheus --config.file="$st/prometheus.yml" --storage.tsdb.path="$st/prometheus" \
  --web.listen-address=127.0.0.1:17834 >"$st/log/prometheus.log" 2>&1 </dev/null & echo $! >"$st/run/prometheus.pid"

ready() {
  [ -p "$st/nagios/rw/nagios.cmd" ] && grep -q 'plugin_output=.*submission failed' "$st/nagios/status.dat" 2>/dev/null &&
    (exec 3<>/dev/tcp/127.0.0.1/17832 && timeout 3 cat <&3 | grep -q ce1.grid.test) 2>/dev/null &&
    (exec 3<>/dev/tcp/127.0.0.1/17834) 2>/dev/null
}
for _ in $(seq 100); do ready && { ok=1; break; }; sleep .3; done
[ -n "${ok:-}" ] || { echo "not all came up, see $st/log" >&2; for f in "$st"/log/*; do tail -n 2 "$f"; done >&2; "$here/down.sh" >/dev/null; exit 1; }
gmetric -c "$st/gmond.conf" --spoof=127.0.0.2:ce2.grid.test --heartbeat >/dev/null
now=$(date +%s)
printf '[%d] SCHEDULE_HOST_DOWNTIME;ce4.grid.test;%d;%d;1;0;0;tester;maintenance\n' "$now" "$now" $((now + 30 * 86400)) >"$st/nagios/rw/nagios.cmd"
printf 'export GRID_NAGIOS_STATUS=%q GRID_NAGIOS_CGI=%q GRID_NAGIOS_CGI_CONFIG=%q GRID_GANGLIA=127.0.0.1:17832 GRID_PROMETHEUS=127.0.0.1:17834\n' \
  "$st/nagios/status.dat" "$cgi" "$st/nagios/cgi.cfg" | tr ' ' '\n' | grep = >"$st/env"
echo "up: . $st/env"
