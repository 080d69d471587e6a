//! Sides that are measured in turns.

/// The turns of `sides` sides in `rounds` rounds, as round and side. Another side is first in each round, and every other round runs in reverse
/// order: slow changes (the clock frequency, load of other virtual machines) affect all alike.
pub fn turns(sides: usize, rounds: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..rounds).flat_map(move |round| order(sides, round).map(move |side| (round, side)))
}

/// The order of the sides in a round.
pub fn order(sides: usize, round: usize) -> impl Iterator<Item = usize> {
    (0..sides).map(move |step| {
        let forward = (step + round / 2) % sides;
        if round.is_multiple_of(2) { forward } else { sides - 1 - forward }
    })
}

/// Measures a slice of each side in each round, and gives the slices by side. The first failure ends it.
///
/// # Errors
/// The error of the slice.
pub fn in_turns<T, E>(
    sides: usize,
    rounds: usize,
    mut slice: impl FnMut(usize) -> Result<T, E>,
) -> Result<Vec<Vec<T>>, E> {
    let mut slices: Vec<Vec<T>> = (0..sides).map(|_| Vec::with_capacity(rounds)).collect();
    for (_, side) in turns(sides, rounds) {
        slices[side].push(slice(side)?);
    }
    Ok(slices)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_side_is_as_often_first_as_last() {
        for sides in 1..=4 {
            for place in 0..sides {
                let mut seen: Vec<usize> = (0..2 * sides).filter_map(|round| order(sides, round).nth(place)).collect();
                seen.sort_unstable();
                assert_eq!(seen, (0..sides).flat_map(|side| [side, side]).collect::<Vec<_>>());
            }
        }
        assert_eq!(turns(2, 2).collect::<Vec<_>>(), [(0, 0), (0, 1), (1, 1), (1, 0)]);
    }

    #[test]
    fn slices_are_by_side_until_one_fails() {
        let mut number = 0;
        let mut next = |side: usize| {
            number += 1;
            if number > 4 { Err(side) } else { Ok((side, number)) }
        };
        assert_eq!(in_turns(2, 2, &mut next), Ok(vec![vec![(0, 1), (0, 4)], vec![(1, 2), (1, 3)]]));
        assert_eq!(in_turns(2, 1, &mut next), Err(0));
    }
}
