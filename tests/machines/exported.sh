#!/bin/sh
# exported.sh PROGRAM: exports a policy as C and has the file test itself on other machines, which
# are emulated; s390x is big-endian.

program=$1
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$program" train examples/configs/point_via/tce.yaml run.iterations=1 --quiet --out "$work/run" &&
    "$program" export "$work/run" --c arm --out "$work" >/dev/null || exit 1
for machine in aarch64:aarch64-linux-gnu arm:arm-linux-gnueabihf riscv64:riscv64-linux-gnu \
    s390x:s390x-linux-gnu; do
    name=${machine%:*}
    target=${machine#*:}
    "$target-gcc" -std=c99 -O2 -Wall -Wextra -Wpedantic -Werror -DARM_MAIN "$work/arm.c" \
        -o "$work/$name" -lm || exit 1
    "qemu-$name" -L "/usr/$target" "$work/$name" >"$work/said" || failed=1
    echo "$name: $(head -n 1 "$work/said")"
done
exit $failed
