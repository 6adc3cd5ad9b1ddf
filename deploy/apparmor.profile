# AppArmor profile of a secondface service in a container or on a host.
#
#   apparmor_parser -r deploy/apparmor.profile
#   docker run --security-opt apparmor=secondface …
#
# The service reads its program and the system's libraries, writes its data, and speaks TCP. What a stranger's file can
# reach is narrower still: those are opened in cages that the service builds by itself (docs/why/workers.md).

abi <abi/3.0>,

include <tunables/global>

@{SECONDFACE_DATA} = /data /var/lib/secondface
@{SECONDFACE_CODE} = /opt/secondface /app

profile secondface flags=(attach_disconnected,mediate_deleted) {
  include <abstractions/base>
  include <abstractions/nameservice>
  include <abstractions/openssl>
  include <abstractions/ssl_certs>

  # Only root needs these: to become nobody in each cage, and to hand it its folder.
  capability setuid,
  capability setgid,
  capability chown,
  capability dac_override,
  capability fowner,
  capability kill,

  network inet stream,
  network inet6 stream,
  network inet dgram,
  network inet6 dgram,
  network unix stream,
  network unix seqpacket,
  network netlink raw,

  # Itself: the program, its workers and the processes that start cages.
  signal (send, receive) peer=secondface,
  signal (receive) peer=unconfined,
  unix (create, send, receive, connect, getattr, setattr, getopt, setopt, shutdown) type=stream,
  unix (create, send, receive, connect, getattr, setattr, getopt, setopt, shutdown) type=seqpacket,
  deny ptrace,
  deny mount,
  deny umount,
  deny pivot_root,

  # Programs: this Python and nothing else.
  @{SECONDFACE_CODE}/** mr,
  @{SECONDFACE_CODE}/bin/* mrix,
  /usr/bin/python3* mrix,
  /usr/local/bin/python3* mrix,
  /usr/{,local/}lib/** mr,
  /usr/share/** r,
  /etc/ssl/** r,
  /etc/mime.types r,
  /etc/secondface/** r,
  /run/secrets/** r,
  # A scanner beside it; one at another place needs its own line.
  /run/clamav/clamd.ctl rw,

  # What it keeps.
  owner @{SECONDFACE_DATA}/ rw,
  owner @{SECONDFACE_DATA}/** rwkl,
  # An output is written by nobody, where the service is root.
  @{SECONDFACE_DATA}/work/** rwkl,
  owner /tmp/** rwkl,
  owner /dev/shm/** rwkl,

  # What a program may know of itself and of its limits.
  owner @{PROC}/@{pid}/** r,
  owner @{PROC}/@{pid}/oom_score_adj rw,
  @{PROC}/@{pid}/stat r,
  @{PROC}/meminfo r,
  @{PROC}/stat r,
  @{PROC}/sys/kernel/random/* r,
  /sys/fs/cgroup/** r,
  /sys/devices/system/cpu/** r,
  /sys/devices/system/node/** r,

  # Graphics cards, where there are any.
  /dev/nvidia* rw,
  /dev/dri/** rw,
  @{PROC}/driver/nvidia/** r,

  deny @{PROC}/*/mem rwx,
  deny /etc/shadow r,
  deny @{HOME}/.ssh/** rwx,
  deny @{PROC}/sysrq-trigger rwx,
  deny @{PROC}/sys/** wx,
  deny /sys/kernel/security/** rwx,
}
