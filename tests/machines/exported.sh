#!/bin/sh
# exported.sh PROGRAM: exports policies as C, of movements and of steps, and has the files test
# themselves on other machines, which are emulated; s390x is big-endian.

program=$1
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for method in tce sac; do
    case $method in
    tce) settings="examples/configs/point_via/tce.yaml run.iterations=1" ;;
    sac) settings="examples/configs/pendulum/sac.yaml run.iterations=1 collect.rounds=2" ;;
    esac
    # shellcheck disable=SC2086
    "$program" train $settings --quiet --out "$work/$method" &&
        "$program" export "$work/$method" --c arm --out "$work" >/dev/null || exit 1
    for machine in aarch64:aarch64-linux-gnu arm:arm-linux-gnueabihf riscv64:riscv64-linux-gnu \
        s390x:s390x-linux-gnu; do
        name=${machine%:*}
        target=${machine#*:}
        "$target-gcc" -std=c99 -O2 -Wall -Wextra -Wpedantic -Werror -DARM_MAIN "$work/arm.c" \
            -o "$work/$name" -lm || exit 1
        "qemu-$name" -L "/usr/$target" "$work/$name" >"$work/said" || failed=1
        echo "$method on $name: $(head -n 1 "$work/said")"
    done
done
exit $failed
